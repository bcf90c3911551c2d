#ifndef NORMLAB_SERVER_HTTP_URL_H_
#define NORMLAB_SERVER_HTTP_URL_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace normlab::server {

struct Target {
  std::string path;                           // still percent-encoded: '/' inside a segment differs
  std::map<std::string, std::string> params;  // decoded; '+' is a space
};

// Takes "/api/v1/runs/r1/scalars?key=train_loss&from=3" apart. InvalidArgument: it does not begin
// with '/', an escape is broken, a parameter comes twice, or it has no name.
absl::StatusOr<Target> ParseTarget(std::string_view target);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_URL_H_
