#ifndef NORMLAB_SERVER_GRPC_DOOR_H_
#define NORMLAB_SERVER_GRPC_DOOR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/connect_file.h"
#include "core/data_folder.h"
#include "server/rpc/own_certificate.h"
#include "server/serve.h"

namespace normlab::server {

// Where gRPC listens, and what vouches for it.
struct Door {
  std::string listen;            // with port 0 until it is known
  CertificateFiles certificate;  // empty: no TLS
};

// What was asked for, else what the data folder remembers (`kept`), else loopback. Makes the
// certificate that the data folder vouches for itself with, where one is wanted.
absl::StatusOr<Door> ChooseDoor(const ServeOptions& options, const ConnectInfo& kept,
                                const DataFolder& data);

// `info` with how to reach this server, when the ports are known. `http`: HOST:PORT.
absl::StatusOr<ConnectInfo> Described(ConnectInfo info, const ServeOptions& options,
                                      const Door& door, const std::string& http);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_GRPC_DOOR_H_
