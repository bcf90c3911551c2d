// Rows of results, compared with each other and with the reference.
#ifndef NORMLAB_TESTS_KERNELS_ROW_CHECKS_H_
#define NORMLAB_TESTS_KERNELS_ROW_CHECKS_H_

#include <cstdint>
#include <vector>

#include "tests/kernels/host_matrix.h"

namespace normlab::kernels {

// Whether two rows hold the same bits.
bool SameRow(const HostMatrix& one, std::int64_t row, const HostMatrix& other, std::int64_t at);

// How often row r of the first `period` comes up among `rows` rows that repeat them.
inline std::int64_t TimesOf(std::int64_t r, std::int64_t period, std::int64_t rows) {
  return period >= rows ? 1 : (rows - r + period - 1) / period;
}

// Rows whose parts of a column sum are added one after the other in the sum's own type: those of
// one of 64 tasks, or of a row group where there are more.
inline double RowsOfAPartial(std::int64_t rows) {
  const std::int64_t whole = rows / 64;
  return static_cast<double>(whole);
}

// A fatal failure that names the column where |got - want| exceeds its bound.
void ExpectRow(const HostMatrix& got, std::int64_t row, const std::vector<long double>& want,
               const std::vector<double>& bounds, const char* name);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_ROW_CHECKS_H_
