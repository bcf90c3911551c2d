// Column sums over all rows from one partial per task: partials lie one after the other, and are
// added in their order, in fp64.
#ifndef NORMLAB_KERNELS_COMMON_COLUMN_SUMS_H_
#define NORMLAB_KERNELS_COMMON_COLUMN_SUMS_H_

#include <cstdint>

namespace normlab::kernels {

// Adds `count` partials of `cols` Reals, the first at `offset` and the others `stride` Reals apart,
// into out[cols]. Without any, partials may be null.
template <class Real>
void AddPartials(const Real* partials, std::int64_t offset, std::int64_t stride, std::int64_t count,
                 std::int64_t cols, Real* out) {
  constexpr std::int64_t kColumns = 64;
  for (std::int64_t first = 0; first < cols; first += kColumns) {
    const std::int64_t width = cols - first < kColumns ? cols - first : kColumns;
    double sums[kColumns] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      const Real* partial = partials + offset + i * stride + first;
      for (std::int64_t k = 0; k < width; ++k) sums[k] += static_cast<double>(partial[k]);
    }
    for (std::int64_t k = 0; k < width; ++k) out[first + k] = static_cast<Real>(sums[k]);
  }
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_COLUMN_SUMS_H_
