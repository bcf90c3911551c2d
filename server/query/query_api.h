#ifndef NORMLAB_SERVER_QUERY_QUERY_API_H_
#define NORMLAB_SERVER_QUERY_QUERY_API_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "nlohmann/json_fwd.hpp"
#include "server/query/params.h"

namespace normlab::server {

class ReadOnlyStore;

// What /api/v1/server says about the process that answers.
struct ServerFacts {
  std::string instance;    // of the data: `instance` of the connect file
  std::string data;        // data folder
  std::string started_at;  // ISO 8601; empty: read without a server
};

// Every document that people and programs read, as JSON; the one implementation behind HTTP, the
// Client service and reads without a server. Each call sees one consistent state of the database.
// Numbers that are not finite are the strings "nan", "inf", "-inf", so that the JSON is strict.
// Thread-safe: calls run side by side, each on a read connection of its own.
class QueryApi {
 public:
  // Opens further read connections on the database at `path` when calls overlap. FailedPrecondition
  // for a database that is newer than the program; NotFound when there is none.
  static absl::StatusOr<std::unique_ptr<QueryApi>> Open(const std::string& path, Clock& clock,
                                                        ServerFacts facts);
  ~QueryApi();
  QueryApi(const QueryApi&) = delete;
  QueryApi& operator=(const QueryApi&) = delete;

  // The document at `path` ("/api/v1/sweeps/last/runs"; segments are percent-decoded here) with
  // the query parameters `params`. Where an id stands in a path, a selector may stand as well.
  // NotFound: no such path, sweep, run or key. InvalidArgument: a parameter that does not exist or
  // has a wrong value; the message says what would be right. May take long: not for an event loop.
  absl::StatusOr<nlohmann::json> Get(const std::string& path, const Params& params) const;

 private:
  struct Parts;
  explicit QueryApi(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_QUERY_API_H_
