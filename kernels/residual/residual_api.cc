// C interface of residual updates on the CPU: checks, rows split over tasks, column sums.
#include "kernels/common/column_sums.h"
#include "kernels/common/isa_table.h"
#include "kernels/common/past_caches.h"
#include "kernels/common/tasks.h"
#include "kernels/residual/residual_check.h"
#include "kernels/residual/residual_cpu.h"

namespace normlab::kernels {
namespace {

constexpr int kScratchRows = 3;  // per task, in both directions

constexpr const ResidualRows* kTables[kCpuIsaCount] = NORMLAB_ISA_TABLES(kResidualRows);

// Where the column sums of the whole matrix go, null where they are not wanted.
void Outputs(const normlab_residual_form& form, const normlab_residual_backward_args& args,
             void** outputs) {
  const normlab_norm_stage* stages[3] = {&form.branch, &form.post, &form.next};
  for (std::size_t k = 0; k < 3; ++k) {
    const bool present = stages[k]->present != 0;
    outputs[2 * k] = present ? stages[k]->dgain : nullptr;
    outputs[2 * k + 1] = present ? stages[k]->dbias : nullptr;
  }
  outputs[kBranchFactor] = args.db_columns;
}

// The workspace holds, per task, one partial per column sum and the rows of scratch.
template <class Real>
void BackwardTasks(const ResidualRows& table, const normlab_residual_form& form,
                   const normlab_residual_backward_args& args, const normlab_executor* executor) {
  const std::int64_t rows = args.dx.rows, cols = args.dx.cols, tasks = TaskCount(rows);
  const std::int64_t stride = (kResidualSums + kScratchRows) * cols;
  Real* partials = static_cast<Real*>(args.workspace);
  void* outputs[kResidualSums];
  Outputs(form, args, outputs);
  const bool past =
      GoesPastCaches({args.dstream, args.dnext, args.x, args.g, args.stream}, {args.dx, args.dg});
  double db[kMostTasks] = {};
  RunTasks(executor, tasks, [&](std::int64_t i) {
    void* sums[kResidualSums];
    Real* own = partials + i * stride;
    for (int k = 0; k < kResidualSums; ++k) {
      sums[k] = outputs[k] != nullptr ? own + k * cols : nullptr;
    }
    table.backward(form, args, TaskBegin(rows, tasks, i), TaskBegin(rows, tasks, i + 1), past,
                   own + kResidualSums * cols, sums, args.db != nullptr ? &db[i] : nullptr);
  });
  for (int k = 0; k < kResidualSums; ++k) {
    if (outputs[k] == nullptr) continue;
    AddPartials(partials, k * cols, stride, tasks, cols, static_cast<Real*>(outputs[k]));
  }
  if (args.db != nullptr) {
    *args.db = 0;
    for (std::int64_t i = 0; i < tasks; ++i) *args.db += db[i];
  }
}

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int64_t normlab_residual_forward_workspace(int64_t rows, int64_t cols,
                                                      normlab_dtype stream) {
  return kScratchRows * TaskCount(rows) * cols * RealBytes(stream);
}

extern "C" int64_t normlab_residual_backward_workspace(int64_t rows, int64_t cols,
                                                       normlab_dtype stream) {
  return (kResidualSums + kScratchRows) * TaskCount(rows) * cols * RealBytes(stream);
}

extern "C" int normlab_residual_forward(const normlab_residual_form* form,
                                        const normlab_residual_forward_args* args,
                                        const normlab_executor* executor) {
  NORMLAB_RETURN_IF_FAULT(CheckResidualForward(*form, *args, 0));
  if (args->workspace == nullptr && args->x.rows > 0) {
    return Fail("residual: the forward pass needs a workspace");
  }
  NORMLAB_RETURN_IF_FAULT(CheckPointer("workspace", args->workspace, args->x.dtype));
  const ResidualRows* table = ActiveTable(kTables);
  if (table == nullptr) return NORMLAB_INVALID_ARGUMENT;
  const std::int64_t rows = args->x.rows, tasks = TaskCount(rows);
  const bool past = GoesPastCaches(
      {args->x, args->g}, {args->stream, form->next.present != 0 ? args->next : normlab_matrix{}});
  const std::int64_t own_bytes = kScratchRows * args->x.cols * RealBytes(args->x.dtype);
  char* scratch = static_cast<char*>(args->workspace);
  RunTasks(executor, tasks, [&](std::int64_t i) {
    table->forward(*form, *args, TaskBegin(rows, tasks, i), TaskBegin(rows, tasks, i + 1), past,
                   scratch + i * own_bytes);
  });
  return NORMLAB_OK;
}

extern "C" int normlab_residual_backward(const normlab_residual_form* form,
                                         const normlab_residual_backward_args* args,
                                         const normlab_executor* executor) {
  NORMLAB_RETURN_IF_FAULT(CheckResidualBackward(*form, *args, 0));
  const ResidualRows* table = ActiveTable(kTables);
  if (table == nullptr) return NORMLAB_INVALID_ARGUMENT;
  if (args->dx.dtype == NORMLAB_F64) {
    BackwardTasks<double>(*table, *form, *args, executor);
  } else {
    BackwardTasks<float>(*table, *form, *args, executor);
  }
  return NORMLAB_OK;
}
