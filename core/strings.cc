#include "core/strings.h"

#include <charconv>
#include <cmath>

#include "core/json.h"

namespace normlab {

namespace internal {

void AppendDouble(std::string& out, double value) { out += ShortestDouble(value); }

}  // namespace internal

namespace {

template <typename Number>
bool ParseNumber(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view StripSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool ParseInt64(std::string_view text, int64_t& value) { return ParseNumber(text, value); }

bool ParseDouble(std::string_view text, double& value) {
  double parsed = 0;
  if (!ParseNumber(text, parsed) || !std::isfinite(parsed)) return false;
  value = parsed;
  return true;
}

}  // namespace normlab
