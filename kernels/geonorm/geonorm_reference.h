// GeoNorm of one row, written for reading: the slow truth beside the fast code. Arithmetic is
// long double, so that it can judge fp64 too.
#ifndef NORMLAB_KERNELS_GEONORM_GEONORM_REFERENCE_H_
#define NORMLAB_KERNELS_GEONORM_GEONORM_REFERENCE_H_

#include <vector>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels::reference {

using Vector = std::vector<long double>;

// The quantities of GeoNorm, section 3, by their names there.
struct GeoNormRow {
  long double radius = 0;        // |x|
  long double along = 0;         // c = <x,g>/|x|^2, g the branch
  long double tangent_size = 0;  // |v|, v = g - c·x
  long double theta = 0;         // after clamps and retraction
  bool still = false;            // x' = x although the angle is not zero, or x = 0
  Vector out;                    // x'
};

struct GeoNormGradients {
  Vector dx, dv;
  long double dalpha = 0, dscale = 0, dbias = 0;
};

GeoNormRow GeoNormForward(const normlab_geonorm_options& options, const Vector& x,
                          const Vector& branch);

// Reverse mode through the definition, one step after the other; `upstream` is dL/dx'.
GeoNormGradients GeoNormBackward(const normlab_geonorm_options& options, const Vector& x,
                                 const Vector& branch, const Vector& upstream);

}  // namespace normlab::kernels::reference

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_REFERENCE_H_
