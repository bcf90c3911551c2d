#ifndef NORMLAB_SERVER_QUERY_PERCENT_H_
#define NORMLAB_SERVER_QUERY_PERCENT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace normlab::server {

// "s3%2Fc4" → "s3/c4". InvalidArgument for a broken escape or one that hides a zero byte.
absl::StatusOr<std::string> PercentDecode(std::string_view text);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_PERCENT_H_
