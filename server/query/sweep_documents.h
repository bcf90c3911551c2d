#ifndef NORMLAB_SERVER_QUERY_SWEEP_DOCUMENTS_H_
#define NORMLAB_SERVER_QUERY_SWEEP_DOCUMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"
#include "server/query/lookup.h"
#include "server/scheduler/explain.h"

namespace normlab::server {

class ReadOnlyStore;

// What sweeps are seen against.
struct Surroundings {
  absl::Time now;
  std::vector<WorkerFacts> workers;
};

// normlab.sweeps.v1: all sweeps, the newest first.
absl::StatusOr<nlohmann::json> SweepsDocument(ReadOnlyStore& store, const Surroundings& around);

// normlab.sweep.v1: one sweep with its cells and what was submitted.
absl::StatusOr<nlohmann::json> SweepDocument(ReadOnlyStore& store, SweepId sweep,
                                             const Surroundings& around);

// normlab.runs.v1: runs by number, of whatever sweeps; "sweep" is null.
absl::StatusOr<nlohmann::json> RunsDocument(ReadOnlyStore& store, const RunSpan& span,
                                            const Surroundings& around);

// normlab.runs.v1: the runs of a sweep or of one of its cells.
absl::StatusOr<nlohmann::json> SweepRunsDocument(ReadOnlyStore& store, const SweepChoice& choice,
                                                 const Surroundings& around);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_SWEEP_DOCUMENTS_H_
