#ifndef NORMLAB_SERVER_DISPATCH_ROW_CONVERSION_H_
#define NORMLAB_SERVER_DISPATCH_ROW_CONVERSION_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/scheduler/model.h"
#include "server/scheduler/scheduler.h"
#include "server/store/run_rows.h"
#include "server/store/run_store.h"

namespace normlab::server {

// Two readings of one moment: translates the scheduler's monotonic times to the wall times of rows
// and back.
struct Moment {
  absl::Time wall;
  absl::Time monotonic;

  absl::Time ToWall(absl::Time mono) const { return wall + (mono - monotonic); }
  absl::Time ToMonotonic(absl::Time at) const { return monotonic + (at - wall); }
};

RunStateRow StateRowOf(const Run& run, const Moment& moment);
AttemptRow AttemptRowOf(RunId run, const Attempt& attempt);
WorkerRow WorkerRowOf(const Worker& worker, const Moment& moment);

// What the scheduler goes on from. DataLoss for a word that no state has.
absl::StatusOr<SchedulerState> StateOf(const SavedState& saved, const Moment& moment);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_DISPATCH_ROW_CONVERSION_H_
