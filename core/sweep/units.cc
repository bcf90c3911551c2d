#include "core/sweep/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/strings.h"

namespace normlab {

namespace {

constexpr std::array<std::pair<char, double>, 4> kDurationUnits = {
    {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}};
constexpr std::array<std::pair<std::string_view, double>, 9> kSizeUnits = {{{"KiB", 1024.0},
                                                                            {"MiB", 0x1p20},
                                                                            {"GiB", 0x1p30},
                                                                            {"TiB", 0x1p40},
                                                                            {"kB", 1e3},
                                                                            {"MB", 1e6},
                                                                            {"GB", 1e9},
                                                                            {"TB", 1e12},
                                                                            {"B", 1.0}}};
constexpr std::string_view kNumberCharacters = "0123456789.";

// Takes a number without sign or exponent off the front of `text`.
std::optional<double> TakeNumber(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of(kNumberCharacters), text.size());
  double value = 0;
  if (!ParseDouble(text.substr(0, end), value)) return std::nullopt;
  text.remove_prefix(end);
  return value;
}

// Takes a unit off the front; units of one duration get smaller from left to right.
std::optional<double> TakeDurationUnit(std::string_view& text, double below) {
  for (const auto& [letter, seconds] : kDurationUnits) {
    if (text.empty() || text.front() != letter || seconds >= below) continue;
    text.remove_prefix(1);
    return seconds;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> ParseDuration(std::string_view text) {
  double plain = 0;
  if (text.find_first_not_of(kNumberCharacters) == std::string_view::npos &&
      ParseDouble(text, plain)) {
    return plain;
  }
  if (text.empty()) return std::nullopt;
  double total = 0;
  double unit_before = INFINITY;
  while (!text.empty()) {
    const auto number = TakeNumber(text);
    if (!number) return std::nullopt;
    const auto unit = TakeDurationUnit(text, unit_before);
    if (!unit) return std::nullopt;
    total += *number * *unit;
    unit_before = *unit;
  }
  return total;
}

std::optional<int64_t> ParseSize(std::string_view text) {
  const auto number = TakeNumber(text);
  if (!number) return std::nullopt;
  double unit = text.empty() ? 1 : 0;
  for (const auto& [name, bytes] : kSizeUnits) {
    if (text == name) unit = bytes;
  }
  const double bytes = *number * unit;
  if (unit == 0 || bytes > 0x1p62) return std::nullopt;
  return std::llround(bytes);
}

std::string FormatDuration(double seconds) {
  std::string text;
  for (const auto& [letter, unit] : kDurationUnits) {
    if (letter == 's') break;
    const double count = std::floor(seconds / unit);
    if (count == 0) continue;
    text += Cat(static_cast<int64_t>(count), letter);
    seconds -= count * unit;
  }
  if (seconds > 0 || text.empty()) text += Cat(seconds, 's');
  return text;
}

}  // namespace normlab
