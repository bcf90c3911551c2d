#ifndef NORMLAB_SERVER_QUERY_SERIES_DOCUMENTS_H_
#define NORMLAB_SERVER_QUERY_SERIES_DOCUMENTS_H_

#include "absl/status/statusor.h"
#include "core/ids.h"
#include "nlohmann/json_fwd.hpp"
#include "server/query/params.h"

namespace normlab::server {

class ReadOnlyStore;

// What one run measured. NotFound for a key that the run does not have though it has others; a run
// that has measured nothing yet gives empty lists.

// normlab.scalars.v1; key=K [from=A] [to=B] (steps, both included), exact, or with points=N a
// picture of at most N buckets.
absl::StatusOr<nlohmann::json> ScalarsDocument(ReadOnlyStore& store, RunId run,
                                               const Params& params);

// normlab.profiles.v1; key=K [step=N|last].
absl::StatusOr<nlohmann::json> ProfilesDocument(ReadOnlyStore& store, RunId run,
                                                const Params& params);

// normlab.events.v1 and normlab.evals.v1: those that count in the run's series, by step.
absl::StatusOr<nlohmann::json> EventsDocument(ReadOnlyStore& store, RunId run,
                                              const Params& params);
absl::StatusOr<nlohmann::json> EvalsDocument(ReadOnlyStore& store, RunId run, const Params& params);

// normlab.logs.v1; [after=SEQ]: the lines after the one with that `seq`, of all attempts in order.
absl::StatusOr<nlohmann::json> LogsDocument(ReadOnlyStore& store, RunId run, const Params& params);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_SERIES_DOCUMENTS_H_
