#ifndef NORMLAB_SERVER_QUERY_SQL_DOCUMENT_H_
#define NORMLAB_SERVER_QUERY_SQL_DOCUMENT_H_

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "nlohmann/json_fwd.hpp"
#include "server/query/params.h"

namespace normlab::server {

class ReadOnlyStore;

// normlab.query.v1; sql=SELECT …: somebody's own read-only SQL. `truncated` says that there were
// more rows than one document holds.
absl::StatusOr<nlohmann::json> SqlDocument(ReadOnlyStore& store, const Params& params,
                                           const Clock& clock);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_SQL_DOCUMENT_H_
