// PB-relax of LayerNorm and RMSNorm, shared by the CPU kernels (per instruction set) and by the
// CUDA kernels.
#ifndef NORMLAB_KERNELS_NORM_RELAXED_EPS_H_
#define NORMLAB_KERNELS_NORM_RELAXED_EPS_H_

#include "kernels/common/portable_math.h"

namespace normlab::kernels::NORMLAB_ROW_NAMESPACE {

// eps as it acts on the row: dividing the row by m = largest/8, largest = max|x|, multiplies eps by
// m^2 and changes nothing else. A row of zeros keeps eps.
NORMLAB_HD inline double RelaxedEps(double eps, double largest) {
  const double share = largest / 8;
  return share > 0 ? eps * share * share : eps;
}

}  // namespace normlab::kernels::NORMLAB_ROW_NAMESPACE

#endif  // NORMLAB_KERNELS_NORM_RELAXED_EPS_H_
