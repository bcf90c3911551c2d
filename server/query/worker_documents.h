#ifndef NORMLAB_SERVER_QUERY_WORKER_DOCUMENTS_H_
#define NORMLAB_SERVER_QUERY_WORKER_DOCUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "server/scheduler/explain.h"

namespace normlab::server {

class ReadOnlyStore;

// What explanations need to know of every worker. Without a server nobody is connected, whatever
// the database says was so when the last one ended. `now` is ISO 8601.
absl::StatusOr<std::vector<WorkerFacts>> ReadWorkerFacts(ReadOnlyStore& store, bool served,
                                                         const std::string& now);

// normlab.workers.v1.
absl::StatusOr<nlohmann::json> WorkersDocument(ReadOnlyStore& store, bool served);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_WORKER_DOCUMENTS_H_
