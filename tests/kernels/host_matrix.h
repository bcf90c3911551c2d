// Matrices of tests: any storage type, read and written as double; rows may have gaps.
#ifndef NORMLAB_TESTS_KERNELS_HOST_MATRIX_H_
#define NORMLAB_TESTS_KERNELS_HOST_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Those with CUDA kernels of their own, and others below and above.
inline constexpr std::int64_t kWidths[] = {8,    100,  128,  384,  768, 1024,
                                           1280, 1536, 1600, 2048, 4096};

// Memory from a line of the cache on, as LibTorch's.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator&) const = default;
};

class HostMatrix {
 public:
  using Storage = std::vector<unsigned char, LineAllocator<unsigned char>>;

  // `gap`: unused elements after each row, filled with a pattern that CheckGaps looks for.
  HostMatrix(normlab_dtype dtype, std::int64_t rows, std::int64_t cols, std::int64_t gap = 0);

  double Get(std::int64_t row, std::int64_t col) const;
  // Rounds to the storage type, to nearest even.
  void Set(std::int64_t row, std::int64_t col, double value);
  std::vector<long double> Row(std::int64_t row) const;
  std::string_view RowBytes(std::int64_t row) const;

  normlab_matrix View() const;
  const Storage& bytes() const { return bytes_; }
  bool GapsUntouched() const;
  // `rows` rows that repeat those of this matrix, which has no gaps; and whether a matrix is such.
  HostMatrix Repeated(std::int64_t rows) const;
  bool Repeats(std::int64_t period) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  normlab_dtype dtype() const { return dtype_; }

 private:
  normlab_dtype dtype_;
  std::int64_t rows_, cols_, stride_;
  Storage bytes_;
};

// Half the distance from 1 to the next number: 2^-24, 2^-53 or 2^-8.
double UnitRoundoff(normlab_dtype dtype);
// Of the arithmetic that goes with a stream type.
double ArithmeticRoundoff(normlab_dtype stream);
const char* Name(normlab_dtype dtype);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_HOST_MATRIX_H_
