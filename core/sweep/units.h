#ifndef NORMLAB_CORE_SWEEP_UNITS_H_
#define NORMLAB_CORE_SWEEP_UNITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace normlab {

// "30m", "1h30m", "2d", "90" (seconds) → seconds. Empty for anything else.
std::optional<double> ParseDuration(std::string_view text);

// "2GiB", "512MiB", "2GB", "1000" (bytes) → bytes. Empty for anything else.
std::optional<int64_t> ParseSize(std::string_view text);

// Seconds as people write them: "1h30m", "45s", "0.5s".
std::string FormatDuration(double seconds);

}  // namespace normlab

#endif  // NORMLAB_CORE_SWEEP_UNITS_H_
