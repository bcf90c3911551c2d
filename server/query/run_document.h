#ifndef NORMLAB_SERVER_QUERY_RUN_DOCUMENT_H_
#define NORMLAB_SERVER_QUERY_RUN_DOCUMENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/ids.h"
#include "nlohmann/json_fwd.hpp"
#include "server/scheduler/explain.h"

namespace normlab::server {

class ReadOnlyStore;

// normlab.run.v1: one run with its config, attempts, and the names of what it measured.
absl::StatusOr<nlohmann::json> RunDocument(ReadOnlyStore& store, RunId run,
                                           const std::vector<WorkerFacts>& workers);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_RUN_DOCUMENT_H_
