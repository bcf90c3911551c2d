#ifndef NORMLAB_CORE_LOOPBACK_H_
#define NORMLAB_CORE_LOOPBACK_H_

#include <string_view>

namespace normlab {

// True for a host that only this machine itself can reach: "localhost" in any case, an address of
// 127.0.0.0/8, "[::1]". Other names are not looked up: what they lead to may change.
bool IsLoopbackHost(std::string_view host);

// The same for HOST:PORT, whatever the port is.
bool IsLoopbackAddress(std::string_view address);

}  // namespace normlab

#endif  // NORMLAB_CORE_LOOPBACK_H_
