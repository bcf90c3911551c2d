#include "server/scheduler/retry_rule.h"

#include <algorithm>

namespace normlab::server {
namespace {

RetryDecision GiveUp(std::string reason) {
  RetryDecision decision;
  decision.reason = std::move(reason);
  return decision;
}

RetryDecision AtOnce(FailureKind kind) {
  RetryDecision decision;
  decision.retry = true;
  decision.reason = std::string(ToString(kind));
  return decision;
}

RetryDecision AfterLoss(const AttemptFailure& failure, Run& run, const SchedulerOptions& options) {
  run.idle_losses = failure.progressed ? 0 : run.idle_losses + 1;
  if (run.idle_losses > options.max_idle_losses) return GiveUp("lost_too_often");
  RetryDecision decision = AtOnce(failure.kind);
  decision.avoid_worker = failure.kind == FailureKind::kDeviceLost;
  decision.blames_worker = failure.kind == FailureKind::kDeviceLost;
  return decision;
}

RetryDecision AfterPreemption(const AttemptFailure& failure, Run& run) {
  ++run.preemptions;
  if (run.budget.preemptions >= 0 && run.preemptions > run.budget.preemptions) {
    return GiveUp("preemption_budget");
  }
  return AtOnce(failure.kind);
}

RetryDecision AfterError(const AttemptFailure& failure, Run& run, const SchedulerOptions& options) {
  ++run.failures;
  RetryDecision decision;
  decision.retry = run.failures <= run.budget.failures;
  decision.pause = BackOff(options.first_back_off, options.longest_back_off, run.failures);
  decision.avoid_worker = true;
  // One that trained for a while and then failed says nothing about the machine.
  decision.blames_worker = !failure.progressed && failure.kind != FailureKind::kTimeout;
  decision.reason = std::string(ToString(failure.kind));
  return decision;
}

}  // namespace

absl::Duration BackOff(absl::Duration first, absl::Duration longest, int64_t n) {
  const int64_t doublings = std::clamp<int64_t>(n - 1, 0, 30);
  return std::min(first * static_cast<double>(int64_t{1} << doublings), longest);
}

RetryDecision DecideRetry(const AttemptFailure& failure, Run& run,
                          const SchedulerOptions& options) {
  const bool time_is_up = run.budget.time_s > 0 && run.used_s >= run.budget.time_s;
  switch (failure.kind) {
    case FailureKind::kLostWorker:
    case FailureKind::kDeviceLost:
      if (time_is_up) return GiveUp("time_budget");
      return AfterLoss(failure, run, options);
    case FailureKind::kPreempted:
    case FailureKind::kCancelled:
      if (time_is_up) return GiveUp("time_budget");
      return AfterPreemption(failure, run);
    case FailureKind::kConfigError:
      if (!failure.setup_failed && !failure.resumed) return GiveUp("config_error");
      return AfterError(failure, run, options);
    default:
      if (time_is_up) return GiveUp("time_budget");
      return AfterError(failure, run, options);
  }
}

}  // namespace normlab::server
