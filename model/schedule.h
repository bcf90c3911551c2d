// The learning rate of a step. With w = warmup, S = steps, m = min_lr_ratio and, after the warm-up,
// u = (t − w)/(S − w) (1 when S = w):
//   t ≤ w     : lr · t / w
//   cosine    : lr · (m + (1 − m)·½(1 + cos πu))
//   linear    : lr · (m + (1 − m)(1 − u))
//   constant  : lr
//   wsd       : lr up to step D = S − ⌊S/5⌋, then lr · (m + (1 − m)(S − t)/(S − D))
// Steps count from 1, so the last step S of cosine, linear and wsd trains at lr · m.
#ifndef NORMLAB_MODEL_SCHEDULE_H_
#define NORMLAB_MODEL_SCHEDULE_H_

#include <cstdint>

namespace normlab::model {

enum class ScheduleKind { kCosine, kLinear, kConstant, kWsd };

struct Schedule {
  ScheduleKind kind = ScheduleKind::kCosine;
  double lr = 0;
  int64_t warmup = 0;
  int64_t steps = 1;
  double min_lr_ratio = 0.1;

  double LearningRate(int64_t step) const;
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_SCHEDULE_H_
