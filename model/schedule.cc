#include "model/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace normlab::model {

double Schedule::LearningRate(int64_t step) const {
  if (step <= warmup) return lr * static_cast<double>(step) / static_cast<double>(warmup);
  const double span = static_cast<double>(steps - warmup);
  const double u = span > 0 ? std::min(1.0, static_cast<double>(step - warmup) / span) : 1.0;
  switch (kind) {
    case ScheduleKind::kCosine:
      return lr * (min_lr_ratio + (1 - min_lr_ratio) * 0.5 * (1 + std::cos(std::numbers::pi * u)));
    case ScheduleKind::kLinear:
      return lr * (min_lr_ratio + (1 - min_lr_ratio) * (1 - u));
    case ScheduleKind::kConstant:
      return lr;
    case ScheduleKind::kWsd:
      break;
  }
  const int64_t decay = std::max<int64_t>(1, steps / 5);
  if (step <= steps - decay) return lr;
  const double left = static_cast<double>(std::max<int64_t>(0, steps - step));
  return lr * (min_lr_ratio + (1 - min_lr_ratio) * left / static_cast<double>(decay));
}

}  // namespace normlab::model
