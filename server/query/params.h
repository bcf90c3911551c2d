#ifndef NORMLAB_SERVER_QUERY_PARAMS_H_
#define NORMLAB_SERVER_QUERY_PARAMS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace normlab::server {

using Params = std::map<std::string, std::string>;

// InvalidArgument when there is a parameter that is none of `known`; the message names it and the
// known ones, so that a misspelt one is not silently without effect.
absl::Status CheckParams(const Params& params, std::initializer_list<std::string_view> known);

// The parameter's text; `otherwise` when it is not there.
std::string TextParam(const Params& params, const std::string& name, std::string_view otherwise);

// InvalidArgument when it is there and no whole number of at least `least`.
absl::StatusOr<std::optional<int64_t>> IntParam(const Params& params, const std::string& name,
                                                int64_t least);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_PARAMS_H_
