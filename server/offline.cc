#include "server/offline.h"

#include <memory>

#include "core/clock.h"
#include "core/connect_file.h"
#include "core/data_folder.h"
#include "core/status.h"
#include "nlohmann/json.hpp"
#include "server/query/query_api.h"

namespace normlab::server {

absl::StatusOr<nlohmann::json> ReadOffline(const std::string& data_dir, const std::string& path,
                                           const std::map<std::string, std::string>& params) {
  const DataFolder data(data_dir);
  ServerFacts facts;
  facts.data = data_dir;
  if (const auto connect = ReadConnectFile(data.ConnectFile()); connect.ok()) {
    facts.instance = connect->instance;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<QueryApi> query,
                   QueryApi::Open(data.Database(), SystemClock(), facts));
  return query->Get(path, params);
}

}  // namespace normlab::server
