#ifndef NORMLAB_CLI_CLIENT_H_
#define NORMLAB_CLI_CLIENT_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "core/connect_file.h"
#include "nlohmann/json_fwd.hpp"

namespace normlab::cli {

struct SubmitCall {
  std::string spec_json;   // SweepSpec::ToJson
  std::string client_key;  // the same key submitted twice is one sweep
  bool fresh = false;      // make new runs instead of linking finished ones
  bool dry_run = false;    // answer what would happen, change nothing
  int max_failures = 0;    // cancel the sweep when more runs have failed; 0: never
};

// The client side of the Client service, with gRPC kept inside. Every call has a deadline and gives
// back the server's status; Unavailable names the address that was tried. One thread.
class Client {
 public:
  // Reads the connect file that INTERFACES (connecting) names and checks that the server answers.
  static absl::StatusOr<std::unique_ptr<Client>> Find(const Context& context);

  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ConnectInfo& info);

  ~Client();

  absl::StatusOr<nlohmann::json> Read(const std::string& path,
                                      const std::map<std::string, std::string>& params);
  absl::StatusOr<nlohmann::json> Submit(const SubmitCall& call);
  absl::StatusOr<nlohmann::json> Cancel(const std::string& selector, const std::string& reason);

  // The dashboard's address with a key that lets one browser in, once.
  absl::StatusOr<std::string> OneTimeAddress();

 private:
  struct Connection;
  explicit Client(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_CLIENT_H_
