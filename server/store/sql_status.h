#ifndef NORMLAB_SERVER_STORE_SQL_STATUS_H_
#define NORMLAB_SERVER_STORE_SQL_STATUS_H_

#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace normlab::server {

// Runs `work`, which may throw SQLite::Exception, and gives its error as a status: "what: SQLite's
// words". The only place where SQLiteCpp's exceptions are caught. Full disk: ResourceExhausted;
// busy: Unavailable; damage: DataLoss; anything else: Internal.
absl::Status SqlStatus(std::string_view what, absl::FunctionRef<void()> work);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_SQL_STATUS_H_
