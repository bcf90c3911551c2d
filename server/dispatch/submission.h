#ifndef NORMLAB_SERVER_DISPATCH_SUBMISSION_H_
#define NORMLAB_SERVER_DISPATCH_SUBMISSION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset.h"
#include "core/ids.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep_spec.h"
#include "nlohmann/json_fwd.hpp"
#include "server/scheduler/model.h"
#include "server/store/run_rows.h"
#include "server/store/run_store.h"

namespace normlab::server {

// A submission as far as it can be worked out without the scheduler: read, checked, expanded, and
// its rows written. All that takes long is in here, so that nobody waits for it at a lock.
struct PreparedSweep {
  SweepSpec spec;
  std::string spec_json;
  Expansion expansion;
  std::map<std::string, DatasetMeta> datasets;  // those that runs use, by name
  std::vector<RunRow> rows;    // of each member, as a run of its own; without its id
  std::vector<CellRow> cells;  // without the sweep
};

// InvalidArgument: a bad spec (every error, one a line), or a data set that the folder lacks.
absl::StatusOr<PreparedSweep> PrepareSweep(const std::string& spec_json,
                                           const std::string& datasets_dir);

// Which run each member becomes: one that exists, or a new one.
struct MemberPlan {
  RunId run;  // of a new one: the number that it will get
  bool linked = false;
};
struct SubmissionPlan {
  std::vector<MemberPlan> members;  // as in the expansion
  std::vector<RunId> linked;        // without repetition, in order
  std::vector<size_t> created;      // members that make a new run
};

// `next_run`: the first free run number. `fresh`: link nothing.
absl::StatusOr<SubmissionPlan> PlanSubmission(const PreparedSweep& sweep, RunId next_run,
                                              bool fresh, RunStore& store);

// The scheduler's run of a member that makes a new run.
Run RunOf(const PreparedSweep& sweep, RunId id);
// The prepared rows, completed; the sweep gives them away.
std::vector<RunRow> TakeRunRows(PreparedSweep& sweep, const SubmissionPlan& plan);
std::vector<CellRow> TakeCellRows(PreparedSweep& sweep, SweepId id);
std::vector<MemberRow> MemberRowsOf(const PreparedSweep& sweep, const SubmissionPlan& plan,
                                    SweepId id);
std::vector<DatasetRow> DatasetRowsOf(const PreparedSweep& sweep);

// "peri = sandwich", or "geo (residual.dt does not apply)".
std::vector<std::string> MergeTexts(const Expansion& expansion);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_DISPATCH_SUBMISSION_H_
