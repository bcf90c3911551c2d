#include "tests/kernels/row_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

namespace normlab::kernels {

bool SameRow(const HostMatrix& one, std::int64_t row, const HostMatrix& other, std::int64_t at) {
  return one.RowBytes(row) == other.RowBytes(at);
}

void ExpectRow(const HostMatrix& got, std::int64_t row, const std::vector<long double>& want,
               const std::vector<double>& bounds, const char* name) {
  for (std::int64_t c = 0; c < got.cols(); ++c) {
    const auto i = static_cast<std::size_t>(c);
    const double difference = std::fabs(got.Get(row, c) - static_cast<double>(want[i]));
    ASSERT_LE(difference, bounds[i]) << name << " at column " << c << ": " << got.Get(row, c)
                                     << " instead of " << static_cast<double>(want[i]);
  }
}

}  // namespace normlab::kernels
