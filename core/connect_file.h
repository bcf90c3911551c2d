#ifndef NORMLAB_CORE_CONNECT_FILE_H_
#define NORMLAB_CORE_CONNECT_FILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace normlab {

// How to reach a server; `serve` writes it into its data folder (mode 0600: it holds the token).
struct ConnectInfo {
  std::string instance;  // of the server's data; new data, new instance
  std::string grpc;      // "127.0.0.1:7420"
  std::string http;      // "http://127.0.0.1:7421"
  std::string token;
  std::string ca;  // PEM of the certificate to trust; empty: no TLS
  int64_t pid = 0;
  // What the server listens on ("0.0.0.0:7420"), where that is not what others connect to; its own
  // memory for the next start.
  std::string listen = {};
  friend bool operator==(const ConnectInfo&, const ConnectInfo&) = default;
};

inline constexpr char kConnectFileName[] = "connect.json";

absl::Status WriteConnectFile(const std::string& path, const ConnectInfo& info);
absl::StatusOr<ConnectInfo> ReadConnectFile(const std::string& path);

// An environment variable's value, or nothing when it is not set or empty.
using GetEnv = std::function<std::optional<std::string>(const char*)>;
GetEnv ProcessEnv();

struct FindConnectOptions {
  std::string connect;  // --connect FILE, or ""
  std::string data;     // --data DIR, or ""
};

// The path of the connect file by --connect, $NORMLAB_CONNECT, --data, $NORMLAB_DATA or the default
// folder, the first that is given (whether or not it exists). InvalidArgument without a home
// folder.
absl::StatusOr<std::string> ConnectFilePath(const FindConnectOptions& options, const GetEnv& env);

// Reads that file. NotFound says where it was looked for and how to start a server.
absl::StatusOr<ConnectInfo> FindConnect(const FindConnectOptions& options, const GetEnv& env);

}  // namespace normlab

#endif  // NORMLAB_CORE_CONNECT_FILE_H_
