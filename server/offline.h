#ifndef NORMLAB_SERVER_OFFLINE_H_
#define NORMLAB_SERVER_OFFLINE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace normlab::server {

// The document at `path` ("/api/v1/sweeps") straight from a data folder, with no server running:
// the same document that a server would give. The database is opened read-only and closed again.
// NotFound: there is no database there, or no such thing in it; InvalidArgument: bad parameter.
absl::StatusOr<nlohmann::json> ReadOffline(const std::string& data_dir, const std::string& path,
                                           const std::map<std::string, std::string>& params);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_OFFLINE_H_
