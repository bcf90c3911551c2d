#ifndef NORMLAB_SERVER_RPC_RPC_SERVER_H_
#define NORMLAB_SERVER_RPC_RPC_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace normlab::server {

class Dispatcher;
class Ingest;

struct RpcServerOptions {
  // "127.0.0.1:7420"; port 0: any free one, see RpcServer::port().
  std::string address;
  // What "authorization: Bearer …" must carry.
  std::string token;
  // PEM files; both empty: no TLS, which is refused for any address but a loopback one.
  std::string certificate_file;
  std::string key_file;
  std::string datasets_dir;     // FetchDataset reads from here
  std::string server_instance;  // new at every start
  std::string instance;         // of the data: `instance` of the connect file
};

// What the services call; all outlive the server, all are thread-safe.
struct RpcBackends {
  Dispatcher* dispatcher = nullptr;
  Ingest* ingest = nullptr;
  // QueryApi::Get.
  std::function<absl::StatusOr<nlohmann::json>(const std::string& path,
                                               const std::map<std::string, std::string>& params)>
      read;
  // A fresh key for GET /open?key=….
  std::function<absl::StatusOr<std::string>()> one_time_key;
};

// The gRPC side of the server: services Control and Client over the parts that do the work.
// Converts between protobuf and plain structs, checks the token, passes statuses on; decides
// nothing.
class RpcServer {
 public:
  // Listens when it returns. FailedPrecondition: the address is taken or would need TLS;
  // InvalidArgument: bad certificate files.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const RpcServerOptions& options,
                                                          const RpcBackends& backends);
  // Lets calls in flight end (for at most two seconds), then closes.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  int port() const;

 private:
  struct Parts;
  explicit RpcServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_RPC_RPC_SERVER_H_
