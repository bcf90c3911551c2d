// C interface of GeoNorm on the CPU: checks, then rows split over tasks.
#include <cmath>

#include "kernels/common/isa_table.h"
#include "kernels/common/past_caches.h"
#include "kernels/common/tasks.h"
#include "kernels/geonorm/geonorm_check.h"
#include "kernels/geonorm/geonorm_cpu.h"

namespace normlab::kernels {

int CheckGeoNormOptions(const normlab_geonorm_options& options) {
  if (options.retraction != NORMLAB_EXP && options.retraction != NORMLAB_PROJECTION &&
      options.retraction != NORMLAB_CAYLEY) {
    return Fail("geonorm: unknown retraction");
  }
  // scale and bias are learned: when they diverge, their NaN is data and must flow on.
  if (!std::isfinite(options.alpha) || !std::isfinite(options.fixed_angle)) {
    return Fail("geonorm: alpha and fixed_angle must be finite");
  }
  if (!(options.angle_clamp >= 0)) return Fail("geonorm: angle_clamp must be >= 0 (0: none)");
  return NORMLAB_OK;
}

int CheckGeoNormForward(const normlab_geonorm_forward_args& args, int alignment) {
  const Named x{"x", args.x}, v{"v", args.v}, y{"y", args.y};
  for (const Named& named : {x, v, y}) NORMLAB_RETURN_IF_FAULT(CheckMatrix(named, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckSameShape(x, v));
  NORMLAB_RETURN_IF_FAULT(CheckSameShape(x, y));
  NORMLAB_RETURN_IF_FAULT(CheckTypePair(x, v));
  NORMLAB_RETURN_IF_FAULT(CheckSameType(x, y));
  for (const Named& in : {x, v}) NORMLAB_RETURN_IF_FAULT(CheckApart(y, in, InPlace::kAllowed));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("saved", args.saved, args.x.dtype));
  return CheckPointer("probes", args.probes, args.x.dtype);
}

int CheckGeoNormBackward(const normlab_geonorm_backward_args& args, int alignment) {
  const Named g{"g", args.g}, x{"x", args.x}, v{"v", args.v}, dx{"dx", args.dx}, dv{"dv", args.dv};
  for (const Named& named : {g, x, v, dx, dv}) {
    NORMLAB_RETURN_IF_FAULT(CheckMatrix(named, alignment));
    NORMLAB_RETURN_IF_FAULT(CheckSameShape(x, named));
  }
  NORMLAB_RETURN_IF_FAULT(CheckTypePair(x, v));
  NORMLAB_RETURN_IF_FAULT(CheckSameType(x, g));
  NORMLAB_RETURN_IF_FAULT(CheckSameType(x, dx));
  NORMLAB_RETURN_IF_FAULT(CheckSameType(v, dv));
  for (const Named& out : {dx, dv}) {
    for (const Named& in : {g, x, v}) {
      NORMLAB_RETURN_IF_FAULT(CheckApart(out, in, InPlace::kAllowed));
    }
  }
  NORMLAB_RETURN_IF_FAULT(CheckApart(dx, dv, InPlace::kRefused));
  if (args.saved == nullptr && args.x.rows > 0) {
    return Fail("geonorm: the backward pass needs what the forward pass saved");
  }
  return CheckPointer("saved", args.saved, args.x.dtype);
}

namespace {

constexpr const GeoNormRows* kTables[kCpuIsaCount] = NORMLAB_ISA_TABLES(kGeoNormRows);

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int normlab_geonorm_forward(const normlab_geonorm_options* options,
                                       const normlab_geonorm_forward_args* args,
                                       const normlab_executor* executor) {
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormOptions(*options));
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormForward(*args, 0));
  const GeoNormRows* table = ActiveTable(kTables);
  if (table == nullptr) return NORMLAB_INVALID_ARGUMENT;

  const std::int64_t rows = args->x.rows, tasks = TaskCount(rows);
  // A row's probes read its result again.
  const bool past = args->probes == nullptr && GoesPastCaches({args->x, args->v}, {args->y});
  std::int64_t zero_rows[kMostTasks] = {};
  RunTasks(executor, tasks, [&](std::int64_t i) {
    zero_rows[i] = table->forward(*options, *args, TaskBegin(rows, tasks, i),
                                  TaskBegin(rows, tasks, i + 1), past);
  });
  if (args->zero_rows != nullptr) {
    for (std::int64_t i = 0; i < tasks; ++i) *args->zero_rows += zero_rows[i];
  }
  return NORMLAB_OK;
}

extern "C" int normlab_geonorm_backward(const normlab_geonorm_options* options,
                                        const normlab_geonorm_backward_args* args,
                                        const normlab_executor* executor) {
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormOptions(*options));
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormBackward(*args, 0));
  const GeoNormRows* table = ActiveTable(kTables);
  if (table == nullptr) return NORMLAB_INVALID_ARGUMENT;

  const std::int64_t rows = args->x.rows, tasks = TaskCount(rows);
  const bool past = GoesPastCaches({args->g, args->x, args->v}, {args->dx, args->dv});
  double dangle[kMostTasks][3] = {};
  RunTasks(executor, tasks, [&](std::int64_t i) {
    table->backward(*options, *args, TaskBegin(rows, tasks, i), TaskBegin(rows, tasks, i + 1), past,
                    args->dangle != nullptr ? dangle[i] : nullptr);
  });
  if (args->dangle != nullptr) {
    for (int k = 0; k < 3; ++k) {
      args->dangle[k] = 0;
      for (std::int64_t i = 0; i < tasks; ++i) args->dangle[k] += dangle[i][k];
    }
  }
  return NORMLAB_OK;
}
