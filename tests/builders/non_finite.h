#ifndef NORMLAB_TESTS_BUILDERS_NON_FINITE_H_
#define NORMLAB_TESTS_BUILDERS_NON_FINITE_H_

#include <bit>
#include <cstdint>
#include <limits>

namespace normlab {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();
// A quiet NaN whose payload must come back bit for bit.
inline constexpr double kOddNan = std::bit_cast<double>(uint64_t{0x7ff80000deadbeef});

}  // namespace normlab

#endif  // NORMLAB_TESTS_BUILDERS_NON_FINITE_H_
