#include "server/grpc_door.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "core/file.h"
#include "core/status.h"
#include "server/host_names.h"
#include "server/listen_address.h"

namespace normlab::server {
namespace {

constexpr char kDefaultGrpc[] = "127.0.0.1:7420";

}  // namespace

absl::StatusOr<Door> ChooseDoor(const ServeOptions& options, const ConnectInfo& kept,
                                const DataFolder& data) {
  Door door;
  door.listen =
      ChooseAddress(options.listen, kept.listen.empty() ? kept.grpc : kept.listen, kDefaultGrpc);
  if (!options.certificate_file.empty() || !options.key_file.empty()) {
    // What others trust is the certificate itself, or the chain that is in its file.
    door.certificate = {options.certificate_file, options.certificate_file, options.key_file};
    return door;
  }
  const std::string own = data.Tls();
  // Once made, it is used again by a plain `serve` too, as the address is.
  const bool again =
      options.listen.empty() && !kept.ca.empty() && FileExists(JoinPath(own, kOwnCaFile));
  if (options.own_certificate || again) {
    std::vector<std::string> names = OwnNames();
    const std::string host = HostOf(door.listen);
    if (host != "0.0.0.0" && host != "::") names.push_back(host);
    if (!options.advertise.empty()) names.push_back(options.advertise);
    ASSIGN_OR_RETURN(door.certificate, MakeOwnCertificate(own, names));
  }
  return door;
}

absl::StatusOr<ConnectInfo> Described(ConnectInfo info, const ServeOptions& options,
                                      const Door& door, const std::string& http) {
  info.grpc = AdvertisedAddress(door.listen, options.advertise);
  info.listen = info.grpc == door.listen ? "" : door.listen;
  info.http = "http://" + http;
  info.pid = getpid();
  info.ca.clear();
  if (!door.certificate.ca.empty()) {
    ASSIGN_OR_RETURN(info.ca, ReadFile(door.certificate.ca));
  }
  return info;
}

}  // namespace normlab::server
