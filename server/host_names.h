#ifndef NORMLAB_SERVER_HOST_NAMES_H_
#define NORMLAB_SERVER_HOST_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace normlab::server {

// "[::1]:7420" → "::1", "host:7420" → "host".
std::string HostOf(std::string_view address);

// What others should connect to when this machine listens on `listen` ("0.0.0.0:7420"): `asked`
// when somebody said so, the address itself when it names one, else this machine's name where it
// has one that can be looked up, else its first address. With the port.
std::string AdvertisedAddress(const std::string& listen, const std::string& asked);

// Names and addresses under which this machine may be reached, itself included: its host name,
// localhost, and the address of every interface.
std::vector<std::string> OwnNames();

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HOST_NAMES_H_
