#ifndef NORMLAB_SERVER_SCHEDULER_SCHEDULER_OPTIONS_H_
#define NORMLAB_SERVER_SCHEDULER_SCHEDULER_OPTIONS_H_

#include "absl/time/time.h"
#include "core/version.h"

namespace normlab::server {

struct SchedulerOptions {
  // A worker that has not called for so long is lost, and its attempts are void.
  absl::Duration lease_term = absl::Seconds(120);
  // How soon a worker should call again: with a free slot, and with none.
  absl::Duration idle_call = absl::Milliseconds(500);
  absl::Duration busy_call = absl::Seconds(2);
  // Pause after the first failure of a run; doubles with each one up to the longest.
  absl::Duration first_back_off = absl::Seconds(5);
  absl::Duration longest_back_off = absl::Minutes(5);
  // A worker on which this many attempts in a row failed gets nothing for a while; the pause
  // doubles with each further failure up to the longest.
  int breaker_failures = 3;
  absl::Duration first_quarantine = absl::Minutes(1);
  absl::Duration longest_quarantine = absl::Minutes(30);
  // A run that was lost with its worker this many times in a row without one step done has failed:
  // it may be what kills the machines.
  int max_idle_losses = 8;
  // A run whose checkpoint only some workers can reach waits for one of them for so long.
  absl::Duration checkpoint_patience = absl::Seconds(30);
  int trainer_math = kTrainerMath;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_SCHEDULER_OPTIONS_H_
