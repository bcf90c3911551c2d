// Rows of the matrices of the C interface, for files that are compiled per instruction set.
#ifndef NORMLAB_KERNELS_COMMON_ROW_ACCESS_H_
#define NORMLAB_KERNELS_COMMON_ROW_ACCESS_H_

#include "kernels/common/vec.h"
#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels::NORMLAB_ISA {

template <class Stored>
NORMLAB_INLINE Stored* Row(const normlab_matrix& matrix, std::int64_t row) {
  return static_cast<Stored*>(matrix.data) + row * matrix.row_stride;
}

// As many rows per block as keep the `bytes_per_row` that a pass reads and writes within three
// quarters of a 32 KiB L1 cache: the scalars of a block's rows are worked out side by side, and no
// row is read from memory twice.
NORMLAB_INLINE int RowsPerBlock(std::int64_t bytes_per_row, int most) {
  const std::int64_t fit = 24576 / (bytes_per_row > 0 ? bytes_per_row : 1);
  if (fit < 1) return 1;
  return fit < most ? static_cast<int>(fit) : most;
}

// Sums of |y| and y^2 over a stored row, so that rounding to bf16 shows in them.
template <class Real, class Stored>
inline void MagnitudeSums(const Stored* y, std::int64_t cols, Real* absolute, Real* squares) {
  Sum<Real> sum_absolute, sum_squares;
  Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    const auto value = at.Load(y + column);
    sum_absolute.Add(at, at.Absolute(value));
    sum_squares.Add(at, value * value);
  });
  *absolute = sum_absolute.Total();
  *squares = sum_squares.Total();
}

// A finished row from the caches to memory; `to` starts at a line of the cache.
template <class Stored>
NORMLAB_INLINE void CopyPastCaches(const Stored* from, Stored* to, std::int64_t cols) {
  constexpr std::int64_t kStep = kVectorBytes / static_cast<std::int64_t>(sizeof(Stored));
  std::int64_t column = 0;
  for (; column + kStep <= cols; column += kStep) {
    StorePastCaches(to + column, LoadRaw<Vec<float>>(from + column));
  }
  for (; column < cols; ++column) to[column] = from[column];
}

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_COMMON_ROW_ACCESS_H_
