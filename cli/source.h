#ifndef NORMLAB_CLI_SOURCE_H_
#define NORMLAB_CLI_SOURCE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "nlohmann/json_fwd.hpp"

namespace normlab::cli {

class Client;

using Params = std::map<std::string, std::string>;

// Where read verbs get their documents: a server when one answers, else the data folder itself.
// Both give the same documents, since both run server/query. One thread.
class Source {
 public:
  // Looks for a server as INTERFACES (connecting) says; when none answers and a data folder with a
  // database is there, reads that. Unavailable, naming what was tried, when there is neither.
  static absl::StatusOr<Source> Find(const Context& context);

  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  // The document at `path` ("/api/v1/sweeps").
  absl::StatusOr<nlohmann::json> Get(const std::string& path, const Params& params = {}) const;

  // True when the data folder is read without a server: nothing will change while we look.
  bool offline() const { return client_ == nullptr; }

 private:
  Source();
  std::unique_ptr<Client> client_;
  std::string data_dir_;
};

// "/api/v1/sweeps/" + the selector with everything but letters and digits percent-encoded.
std::string SweepPath(const std::string& selector, const std::string& rest = "");
std::string RunPath(const std::string& selector, const std::string& rest = "");

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_SOURCE_H_
