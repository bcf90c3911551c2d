#include "server/http/url.h"

#include <algorithm>

#include "core/status.h"
#include "core/strings.h"
#include "server/query/percent.h"

namespace normlab::server {
namespace {

absl::StatusOr<std::string> DecodeQueryText(std::string_view text) {
  std::string with_spaces(text);
  std::replace(with_spaces.begin(), with_spaces.end(), '+', ' ');
  return PercentDecode(with_spaces);
}

}  // namespace

absl::StatusOr<Target> ParseTarget(std::string_view text) {
  if (text.empty() || text[0] != '/') {
    return InvalidArgument("'", text, "' is no path; it must begin with '/'");
  }
  Target target;
  const size_t question = text.find('?');
  target.path = std::string(text.substr(0, question));
  if (question == std::string_view::npos) return target;
  for (const std::string_view part : Split(text.substr(question + 1), '&')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    ASSIGN_OR_RETURN(std::string name, DecodeQueryText(part.substr(0, equals)));
    std::string value;
    if (equals != std::string_view::npos) {
      ASSIGN_OR_RETURN(value, DecodeQueryText(part.substr(equals + 1)));
    }
    if (name.empty()) return InvalidArgument("'", part, "': a parameter without a name");
    if (!target.params.emplace(name, std::move(value)).second) {
      return InvalidArgument("parameter '", name, "' comes twice");
    }
  }
  return target;
}

}  // namespace normlab::server
