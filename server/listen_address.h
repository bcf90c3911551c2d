#ifndef NORMLAB_SERVER_LISTEN_ADDRESS_H_
#define NORMLAB_SERVER_LISTEN_ADDRESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace normlab::server {

// The address to begin with: what was asked for, else what the data folder remembers, else the
// default. A remembered one may be a URL ("http://127.0.0.1:7421").
std::string ChooseAddress(std::string_view asked, std::string_view remembered,
                          std::string_view otherwise);

// The addresses to try in turn: the port itself and the ones after it. Port 0 stands for any free
// one and is the only candidate. InvalidArgument for what is no HOST:PORT.
absl::StatusOr<std::vector<std::string>> AddressCandidates(const std::string& address);

// The address with another port: "127.0.0.1:0", 7420 → "127.0.0.1:7420".
std::string WithPort(std::string_view address, int port);

// Calls `start(address)` with each candidate until one is not refused (FailedPrecondition: the port
// is taken); gives the first other answer, or the last refusal.
template <typename Start>
auto StartOnFreePort(const std::vector<std::string>& candidates, Start start) {
  auto started = start(candidates.front());
  for (size_t i = 1; i < candidates.size() && absl::IsFailedPrecondition(started.status()); ++i) {
    started = start(candidates[i]);
  }
  return started;
}

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_LISTEN_ADDRESS_H_
