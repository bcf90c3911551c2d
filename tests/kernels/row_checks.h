// Rows of results, compared with each other and with the reference.
#ifndef NORMLAB_TESTS_KERNELS_ROW_CHECKS_H_
#define NORMLAB_TESTS_KERNELS_ROW_CHECKS_H_

#include <cstdint>
#include <vector>

#include "tests/kernels/host_matrix.h"

namespace normlab::kernels {

// Whether two rows hold the same numbers; NaN is like NaN.
bool SameRow(const HostMatrix& one, std::int64_t row, const HostMatrix& other, std::int64_t at);

// A fatal failure that names the column where |got - want| exceeds its bound.
void ExpectRow(const HostMatrix& got, std::int64_t row, const std::vector<long double>& want,
               const std::vector<double>& bounds, const char* name);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_ROW_CHECKS_H_
