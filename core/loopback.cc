#include "core/loopback.h"

#include <arpa/inet.h>
#include <strings.h>

#include <string>

namespace normlab {

bool IsLoopbackHost(std::string_view host) {
  const std::string text(host);
  if (text == "[::1]" || strcasecmp(text.c_str(), "localhost") == 0) return true;
  // A name that only begins like an address may lead anywhere.
  in_addr ip = {};
  return text.starts_with("127.") && inet_pton(AF_INET, text.c_str(), &ip) == 1;
}

bool IsLoopbackAddress(std::string_view address) {
  return IsLoopbackHost(address.substr(0, address.rfind(':')));
}

}  // namespace normlab
