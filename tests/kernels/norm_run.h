// LayerNorm and RMSNorm in both directions, and what their results are compared with.
#ifndef NORMLAB_TESTS_KERNELS_NORM_RUN_H_
#define NORMLAB_TESTS_KERNELS_NORM_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/norm/norm_reference.h"
#include "tests/kernels/backend.h"
#include "tests/kernels/geonorm_cases.h"
#include "tests/kernels/host_matrix.h"

namespace normlab::kernels {

// Which parameters a norm has, and which column sums are wanted.
struct Parts {
  bool gain = true, bias = true, dgain = true, dbias = true;
};

// Reals of a parameter: float or double, as the stream asks.
struct Parameter {
  Parameter(normlab_dtype stream, std::int64_t cols)
      : matrix(stream == NORMLAB_F64 ? NORMLAB_F64 : NORMLAB_F32, 1, cols) {}
  void* DataIf(bool present) const { return present ? matrix.View().data : nullptr; }
  reference::Vector RowIf(bool present) const {
    return present ? matrix.Row(0) : reference::Vector();
  }
  HostMatrix matrix;
};

// One forward and one backward pass.
struct NormCase {
  NormCase(const normlab_norm_options& options, TypePair types, std::int64_t rows,
           std::int64_t cols, double size = 1, Parts parts = {});
  std::string name() const;

  normlab_norm_options options;
  TypePair types;
  Parts parts;
  HostMatrix x, y, g, dx;
  Parameter gain, bias, dgain, dbias;
  std::vector<double> saved;
};

// Both directions; a fatal failure with the sentence where the backend refuses.
void RunNorm(Backend& backend, NormCase& c);
// Every result against the reference. Where the inputs repeat every `period` rows, the results must
// do so bit by bit, and the first rows are compared.
void ExpectMatches(const NormCase& c, std::int64_t period = INT64_MAX);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_NORM_RUN_H_
