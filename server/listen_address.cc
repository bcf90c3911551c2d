#include "server/listen_address.h"

#include <algorithm>
#include <cstdint>

#include "core/strings.h"

namespace normlab::server {
namespace {

constexpr int64_t kTries = 50;
constexpr int64_t kMaxPort = 65535;

}  // namespace

std::string ChooseAddress(std::string_view asked, std::string_view remembered,
                          std::string_view otherwise) {
  if (!asked.empty()) return std::string(asked);
  const size_t scheme = remembered.find("://");
  if (scheme != std::string_view::npos) remembered.remove_prefix(scheme + 3);
  return std::string(remembered.empty() ? otherwise : remembered);
}

absl::StatusOr<std::vector<std::string>> AddressCandidates(const std::string& address) {
  const size_t colon = address.rfind(':');
  int64_t port = 0;
  if (colon == std::string::npos || colon == 0 || !ParseInt64(address.substr(colon + 1), port) ||
      port < 0 || port > kMaxPort) {
    return InvalidArgument("'", address,
                           "' is no address; write HOST:PORT, such as 127.0.0.1:7420");
  }
  if (port == 0) return std::vector<std::string>{address};
  std::vector<std::string> candidates;
  for (int64_t next = port; next <= std::min(port + kTries - 1, kMaxPort); ++next) {
    candidates.push_back(WithPort(address, static_cast<int>(next)));
  }
  return candidates;
}

std::string WithPort(std::string_view address, int port) {
  return Cat(address.substr(0, address.rfind(':')), ":", port);
}

}  // namespace normlab::server
