// C interface of LayerNorm and RMSNorm on the CPU: checks, rows split over tasks, column sums.
#include "kernels/common/column_sums.h"
#include "kernels/common/isa_table.h"
#include "kernels/common/past_caches.h"
#include "kernels/common/tasks.h"
#include "kernels/norm/norm_check.h"
#include "kernels/norm/norm_cpu.h"

namespace normlab::kernels {

int CheckNormOptions(const normlab_norm_options& options) {
  if (options.kind != NORMLAB_LAYERNORM && options.kind != NORMLAB_RMSNORM) {
    return Fail("norm: unknown kind");
  }
  if (!(options.eps >= 0)) return Fail("norm: eps must be >= 0");
  return NORMLAB_OK;
}

int CheckNormForward(const normlab_norm_forward_args& args, int alignment) {
  const Named x{"x", args.x}, y{"y", args.y};
  NORMLAB_RETURN_IF_FAULT(CheckMatrix(x, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckMatrix(y, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckSameShape(x, y));
  NORMLAB_RETURN_IF_FAULT(CheckTypePair(x, y));
  NORMLAB_RETURN_IF_FAULT(CheckApart(y, x, InPlace::kAllowed));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("gain", args.gain, args.x.dtype));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("bias", args.bias, args.x.dtype));
  return CheckPointer("saved", args.saved, args.x.dtype);
}

int CheckNormBackward(const normlab_norm_backward_args& args, int alignment) {
  const Named g{"g", args.g}, x{"x", args.x}, dx{"dx", args.dx};
  for (const Named& named : {g, x, dx}) {
    NORMLAB_RETURN_IF_FAULT(CheckMatrix(named, alignment));
    NORMLAB_RETURN_IF_FAULT(CheckSameShape(x, named));
  }
  NORMLAB_RETURN_IF_FAULT(CheckTypePair(x, g));
  NORMLAB_RETURN_IF_FAULT(CheckSameType(x, dx));
  for (const Named& in : {g, x}) NORMLAB_RETURN_IF_FAULT(CheckApart(dx, in, InPlace::kAllowed));
  if (args.saved == nullptr && args.x.rows > 0) {
    return Fail("norm: the backward pass needs what the forward pass saved");
  }
  const bool columns = args.dgain != nullptr || args.dbias != nullptr;
  if (columns && args.workspace == nullptr && args.x.rows > 0) {
    return Fail("norm: dgain and dbias need a workspace");
  }
  NORMLAB_RETURN_IF_FAULT(CheckPointer("gain", args.gain, args.x.dtype));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("saved", args.saved, args.x.dtype));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("dgain", args.dgain, args.x.dtype));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("dbias", args.dbias, args.x.dtype));
  return CheckPointer("workspace", args.workspace, args.x.dtype);
}

namespace {

constexpr const NormRows* kTables[kCpuIsaCount] = NORMLAB_ISA_TABLES(kNormRows);

// The workspace holds one partial dgain and one partial dbias per task.
template <class Real>
void BackwardTasks(const NormRows& table, const normlab_norm_options& options,
                   const normlab_norm_backward_args& args, const normlab_executor* executor) {
  const std::int64_t rows = args.x.rows, cols = args.x.cols, tasks = TaskCount(rows);
  const bool past = GoesPastCaches({args.g, args.x}, {args.dx});
  Real* partials = static_cast<Real*>(args.workspace);
  RunTasks(executor, tasks, [&](std::int64_t i) {
    Real* dgain = args.dgain != nullptr ? partials + 2 * i * cols : nullptr;
    Real* dbias = args.dbias != nullptr ? partials + (2 * i + 1) * cols : nullptr;
    table.backward(options, args, TaskBegin(rows, tasks, i), TaskBegin(rows, tasks, i + 1), past,
                   dgain, dbias);
  });
  Real* outputs[2] = {static_cast<Real*>(args.dgain), static_cast<Real*>(args.dbias)};
  for (int k = 0; k < 2; ++k) {
    if (outputs[k] != nullptr) {
      AddPartials(partials, k * cols, 2 * cols, tasks, cols, outputs[k]);
    }
  }
}

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int64_t normlab_norm_backward_workspace(int64_t rows, int64_t cols,
                                                   normlab_dtype stream) {
  return 2 * TaskCount(rows) * cols * RealBytes(stream);
}

extern "C" int normlab_norm_forward(const normlab_norm_options* options,
                                    const normlab_norm_forward_args* args,
                                    const normlab_executor* executor) {
  NORMLAB_RETURN_IF_FAULT(CheckNormOptions(*options));
  NORMLAB_RETURN_IF_FAULT(CheckNormForward(*args, 0));
  const NormRows* table = ActiveTable(kTables);
  if (table == nullptr) return NORMLAB_INVALID_ARGUMENT;
  const std::int64_t rows = args->x.rows, tasks = TaskCount(rows);
  const bool past = GoesPastCaches({args->x}, {args->y});
  RunTasks(executor, tasks, [&](std::int64_t i) {
    table->forward(*options, *args, TaskBegin(rows, tasks, i), TaskBegin(rows, tasks, i + 1), past);
  });
  return NORMLAB_OK;
}

extern "C" int normlab_norm_backward(const normlab_norm_options* options,
                                     const normlab_norm_backward_args* args,
                                     const normlab_executor* executor) {
  NORMLAB_RETURN_IF_FAULT(CheckNormOptions(*options));
  NORMLAB_RETURN_IF_FAULT(CheckNormBackward(*args, 0));
  const NormRows* table = ActiveTable(kTables);
  if (table == nullptr) return NORMLAB_INVALID_ARGUMENT;
  if (args->x.dtype == NORMLAB_F64) {
    BackwardTasks<double>(*table, *options, *args, executor);
  } else {
    BackwardTasks<float>(*table, *options, *args, executor);
  }
  return NORMLAB_OK;
}
