#include "server/scheduler/retry_rule.h"

#include <gtest/gtest.h>

namespace normlab::server {
namespace {

struct Case {
  const char* name;
  AttemptFailure failure;
  int64_t failures_before;
  int64_t preemptions_before;
  int64_t idle_losses_before;
  bool retry;
  int64_t pause_s;
  bool blames;
  const char* reason;
};

class RetryRule : public testing::TestWithParam<Case> {};

TEST_P(RetryRule, Decides) {
  const Case& c = GetParam();
  server::Run run;
  run.budget = {/*failures=*/2, /*preemptions=*/1, /*time_s=*/0, /*stall_s=*/0};
  run.failures = c.failures_before;
  run.preemptions = c.preemptions_before;
  run.idle_losses = c.idle_losses_before;
  const RetryDecision decision = DecideRetry(c.failure, run, SchedulerOptions());
  EXPECT_EQ(decision.retry, c.retry);
  EXPECT_EQ(decision.reason, c.reason);
  EXPECT_EQ(decision.blames_worker, c.blames);
  if (c.retry) {
    EXPECT_EQ(decision.pause, absl::Seconds(c.pause_s));
  }
}

AttemptFailure Of(FailureKind kind, bool progressed = false, bool setup = false,
                  bool resumed = false) {
  return {kind, setup, resumed, progressed};
}

INSTANTIATE_TEST_SUITE_P(
    Table, RetryRule,
    testing::Values(
        Case{"config", Of(FailureKind::kConfigError), 0, 0, 0, false, 0, false, "config_error"},
        Case{"setup", Of(FailureKind::kConfigError, false, true), 0, 0, 0, true, 5, true,
             "config_error"},
        Case{"bad_checkpoint", Of(FailureKind::kConfigError, false, false, true), 0, 0, 0, true, 5,
             true, "config_error"},
        Case{"code_first", Of(FailureKind::kCodeError), 0, 0, 0, true, 5, true, "code_error"},
        Case{"code_second", Of(FailureKind::kCodeError), 1, 0, 0, true, 10, true, "code_error"},
        Case{"code_third", Of(FailureKind::kCodeError), 2, 0, 0, false, 0, true, "code_error"},
        Case{"code_late", Of(FailureKind::kCodeError, true), 0, 0, 0, true, 5, false, "code_error"},
        Case{"memory", Of(FailureKind::kOutOfMemory), 0, 0, 0, true, 5, true, "out_of_memory"},
        Case{"stall", Of(FailureKind::kTimeout), 0, 0, 0, true, 5, false, "timeout"},
        Case{"lost", Of(FailureKind::kLostWorker), 2, 1, 7, true, 0, false, "lost_worker"},
        Case{"lost_again", Of(FailureKind::kLostWorker), 0, 0, 8, false, 0, false,
             "lost_too_often"},
        Case{"lost_progressed", Of(FailureKind::kLostWorker, true), 0, 0, 8, true, 0, false,
             "lost_worker"},
        Case{"device", Of(FailureKind::kDeviceLost), 0, 0, 0, true, 0, true, "device_lost"},
        Case{"preempted", Of(FailureKind::kPreempted), 0, 0, 0, true, 0, false, "preempted"},
        Case{"preempted_again", Of(FailureKind::kPreempted), 0, 1, 0, false, 0, false,
             "preemption_budget"}),
    [](const auto& test) { return test.param.name; });

TEST(RetryRule, UsedUpTimeIsFinal) {
  server::Run run;
  run.budget.time_s = 60;
  run.used_s = 60;
  const RetryDecision decision =
      DecideRetry({FailureKind::kTimeout, false, false, true}, run, SchedulerOptions());
  EXPECT_FALSE(decision.retry);
  EXPECT_EQ(decision.reason, "time_budget");
}

TEST(RetryRule, BackOffDoublesUpToItsLimit) {
  EXPECT_EQ(BackOff(absl::Seconds(5), absl::Minutes(5), 1), absl::Seconds(5));
  EXPECT_EQ(BackOff(absl::Seconds(5), absl::Minutes(5), 4), absl::Seconds(40));
  EXPECT_EQ(BackOff(absl::Seconds(5), absl::Minutes(5), 1000), absl::Minutes(5));
}

}  // namespace
}  // namespace normlab::server
