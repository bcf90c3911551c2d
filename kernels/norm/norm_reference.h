// LayerNorm and RMSNorm of one row, written for reading, in long double.
#ifndef NORMLAB_KERNELS_NORM_NORM_REFERENCE_H_
#define NORMLAB_KERNELS_NORM_NORM_REFERENCE_H_

#include <vector>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels::reference {

using Vector = std::vector<long double>;

struct NormRow {
  long double mean = 0, rstd = 0;
  Vector unit;  // (x - mean)·rstd
  Vector out;   // unit·gain + bias
};

// An empty gain means ones, an empty bias zeros.
NormRow NormForward(const normlab_norm_options& options, const Vector& x, const Vector& gain,
                    const Vector& bias);

// dL/dx of the row; its share of dgain is upstream·unit, of dbias upstream.
Vector NormBackward(const normlab_norm_options& options, const Vector& x, const Vector& gain,
                    const Vector& upstream);

}  // namespace normlab::kernels::reference

#endif  // NORMLAB_KERNELS_NORM_NORM_REFERENCE_H_
