// The geodesic step of GeoNorm composed of ATen operations, with its analytic backward pass: the
// reference that the fused kernels are held against (GeoNorm paper, section 3).
//
// Per row, with stream x, branch v, R = ‖x‖:
//   β = ⟨x,v⟩/R²   u = v − βx   r = ‖u‖/R   t = (min(r, clamp)·s + b)·α, limited to ±clamp
//   θ = t (exp), arctan t (projection), 2·arctan(t/2) (cayley); or a fixed angle
//   y = cos θ·x + R·sin θ·u/‖u‖,   so that ‖y‖ = ‖x‖
// s and b are 1 and 0 unless the angle is affine. Where θ vanishes with u everything is written in
// q = (αsr)², whose series are smooth at 0: no square root, no division, no NaN at v = 0 or v ∥ x.
// Rows with x = 0, and rows with ‖u‖ ≤ 1e-6·‖v‖ where θ does not vanish with u, are passed through:
// y = x, dx = g, dv = 0.
#ifndef NORMLAB_MODEL_GEODESIC_H_
#define NORMLAB_MODEL_GEODESIC_H_

#include <ATen/core/Tensor.h>

#include "model/model_spec.h"

namespace normlab::model {

// x [..., d] in fp32 or fp64, v the same shape in the same dtype or bf16; scale and bias [1] or
// undefined. Returns y in the dtype of x, differentiable once in all four.
at::Tensor ComposedGeodesic(const AngleSpec& angle, const at::Tensor& x, const at::Tensor& v,
                            const at::Tensor& scale, const at::Tensor& bias);

// θ before the limits of a fixed angle, per row [...]: α·s·‖u‖/R (+ α·b), without clamp and
// retraction. For probes; no gradient.
at::Tensor RawAngle(const AngleSpec& angle, const at::Tensor& x, const at::Tensor& v,
                    const at::Tensor& scale, const at::Tensor& bias);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_GEODESIC_H_
