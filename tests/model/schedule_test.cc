#include "model/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace normlab::model {
namespace {

// Every step of every schedule against its formula, written out once more.
TEST(Schedule, EveryStepFollowsItsFormula) {
  constexpr double kLr = 3e-3, kMin = 0.1;
  constexpr int64_t kSteps = 101, kWarmup = 7;
  for (int64_t t = 1; t <= kSteps; ++t) {
    const double u = static_cast<double>(t - kWarmup) / (kSteps - kWarmup);
    const double wave = 0.5 * (1 + std::cos(std::numbers::pi * u));
    const double rising = kLr * static_cast<double>(t) / kWarmup;
    const bool warm = t <= kWarmup;
    const auto at = [&](ScheduleKind kind) {
      return Schedule{kind, kLr, kWarmup, kSteps, kMin}.LearningRate(t);
    };
    EXPECT_DOUBLE_EQ(at(ScheduleKind::kCosine), warm ? rising : kLr * (kMin + (1 - kMin) * wave));
    EXPECT_DOUBLE_EQ(at(ScheduleKind::kLinear),
                     warm ? rising : kLr * (kMin + (1 - kMin) * (1 - u)));
    const double left = t <= 81 ? 1.0 : static_cast<double>(kSteps - t) / 20;
    EXPECT_DOUBLE_EQ(at(ScheduleKind::kWsd), warm      ? rising
                                             : t <= 81 ? kLr
                                                       : kLr * (kMin + (1 - kMin) * left));
  }
}

TEST(Schedule, EndsAtTheSmallestRate) {
  for (const ScheduleKind kind :
       {ScheduleKind::kCosine, ScheduleKind::kLinear, ScheduleKind::kWsd}) {
    EXPECT_NEAR((Schedule{kind, 1.0, 10, 300, 0.1}.LearningRate(300)), 0.1, 1e-15);
  }
}

TEST(Schedule, ConstantIsConstant) {
  const Schedule constant{ScheduleKind::kConstant, 0.5, 0, 10, 0.1};
  for (int64_t t = 1; t <= 10; ++t) EXPECT_EQ(constant.LearningRate(t), 0.5);
}

}  // namespace
}  // namespace normlab::model
