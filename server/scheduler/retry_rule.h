#ifndef NORMLAB_SERVER_SCHEDULER_RETRY_RULE_H_
#define NORMLAB_SERVER_SCHEDULER_RETRY_RULE_H_

#include <string>

#include "absl/time/time.h"
#include "core/outcome.h"
#include "server/scheduler/model.h"
#include "server/scheduler/scheduler_options.h"

namespace normlab::server {

// How an attempt ended without a result.
struct AttemptFailure {
  FailureKind kind = FailureKind::kCodeError;
  bool setup_failed = false;  // it could not even be started on that worker
  bool resumed = false;       // it had started from a checkpoint
  bool progressed = false;    // it finished at least one step of its own
};

struct RetryDecision {
  bool retry = false;
  absl::Duration pause = absl::ZeroDuration();  // before the run may start again
  bool avoid_worker = false;                    // rather somewhere else
  bool blames_worker = false;                   // counts for the worker's breaker
  std::string reason;                           // code of the transition
};

// What becomes of the run, by kind of failure; moves the run's counters.
//
//   kind           counts against      retried
//   config_error   -                   never; when the worker could not set up, or a checkpoint was
//                                      resumed (it may be the cause), as code_error
//   code_error     failures            after a pause that doubles, rather elsewhere
//   out_of_memory  failures            the same
//   timeout        failures            the same (a stall); never when the time budget is used up
//   device_lost    idle losses         at once, rather elsewhere
//   lost_worker    idle losses         at once; idle: without a step done, in a row
//   preempted      preemptions         at once
//   cancelled      preemptions         at once (nobody here asked for it: the worker was stopped)
RetryDecision DecideRetry(const AttemptFailure& failure, Run& run, const SchedulerOptions& options);

// first · 2^(n - 1), at most `longest`; n from 1.
absl::Duration BackOff(absl::Duration first, absl::Duration longest, int64_t n);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_RETRY_RULE_H_
