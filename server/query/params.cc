#include "server/query/params.h"

#include <algorithm>

#include "core/strings.h"

namespace normlab::server {

absl::Status CheckParams(const Params& params, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : params) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return InvalidArgument("there is no parameter '", name, "' here; ",
                           known.size() == 0 ? "none is taken" : "known: ", Join(known, ", "));
  }
  return absl::OkStatus();
}

std::string TextParam(const Params& params, const std::string& name, std::string_view otherwise) {
  const auto found = params.find(name);
  return found == params.end() ? std::string(otherwise) : found->second;
}

absl::StatusOr<std::optional<int64_t>> IntParam(const Params& params, const std::string& name,
                                                int64_t least) {
  const auto found = params.find(name);
  if (found == params.end()) return std::optional<int64_t>();
  int64_t value = 0;
  if (!ParseInt64(found->second, value) || value < least) {
    return InvalidArgument("'", name, "' is '", found->second,
                           "'; it must be a whole number of at least ", least);
  }
  return std::optional<int64_t>(value);
}

}  // namespace normlab::server
