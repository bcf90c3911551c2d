#ifndef NORMLAB_CORE_STRINGS_H_
#define NORMLAB_CORE_STRINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"

// Text helpers on std::string_view. (Debian 12's Abseil has a string_view of its own that does not
// convert from the standard one, so absl::StrCat and friends cannot take our arguments.)

namespace normlab {

namespace internal {

void AppendDouble(std::string& out, double value);

template <typename T>
void AppendTo(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    out += value;
  } else if constexpr (std::is_integral_v<T>) {
    out += std::to_string(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    AppendDouble(out, value);
  } else if constexpr (requires { out.append(value.data(), value.size()); }) {
    out.append(value.data(), value.size());
  } else {
    out += value;
  }
}

}  // namespace internal

// The arguments one after another: text, integers, doubles (shortest form), bools ("true"), chars.
template <typename... Args>
std::string Cat(const Args&... args) {
  std::string out;
  (internal::AppendTo(out, args), ...);
  return out;
}

// Statuses whose message is Cat(args...).
template <typename... Args>
absl::Status InvalidArgument(const Args&... args) {
  return absl::InvalidArgumentError(Cat(args...));
}
template <typename... Args>
absl::Status NotFound(const Args&... args) {
  return absl::NotFoundError(Cat(args...));
}
template <typename... Args>
absl::Status DataLoss(const Args&... args) {
  return absl::DataLossError(Cat(args...));
}
template <typename... Args>
absl::Status FailedPrecondition(const Args&... args) {
  return absl::FailedPreconditionError(Cat(args...));
}

// Parts between separators, empty ones included: "a,,b" → "a", "", "b". Views into `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);

// `text` without spaces, tabs and line ends around it.
std::string_view StripSpace(std::string_view text);

// Elements (text) with `separator` between them.
template <typename Range>
std::string Join(const Range& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out += separator;
    first = false;
    internal::AppendTo(out, part);
  }
  return out;
}

// The whole of `text` as a decimal number; false for anything else: spaces, "0x1", "nan", "inf", or
// a number that does not fit.
bool ParseInt64(std::string_view text, int64_t& value);
bool ParseDouble(std::string_view text, double& value);

}  // namespace normlab

#endif  // NORMLAB_CORE_STRINGS_H_
