// The one door to every residual and norm operation of the model. Behind it stand the fused kernels
// where they support the tensor at hand (device, dtype), and composed ATen operations (norm.h,
// geodesic.h) as the reference; a spec with `composed_norms` takes the reference always.
//
// x and u are [..., d], contiguous, in the dtype of the stream (fp32, or fp64); a branch u may be
// bf16. Results are in the dtype of the stream unless said otherwise, and differentiable.
#ifndef NORMLAB_MODEL_NORM_OPS_H_
#define NORMLAB_MODEL_NORM_OPS_H_

#include <ATen/core/Tensor.h>

#include "model/model_spec.h"

namespace normlab::model {

// Gain and bias of a norm, [d] each; undefined where the model has none.
struct NormParams {
  at::Tensor gain, bias;
};

// N(x): LayerNorm or RMSNorm with the run's options.
at::Tensor Normalise(const ModelSpec& spec, const NormParams& params, const at::Tensor& x);

// a·x + b·u.
at::Tensor AddBranch(const ModelSpec& spec, const at::Tensor& x, const at::Tensor& u, double a,
                     double b);

// The geodesic step from x along the branch v. `scale` and `bias` are [1], or undefined.
at::Tensor SphereStep(const ModelSpec& spec, const AngleSpec& angle, const at::Tensor& x,
                      const at::Tensor& v, const at::Tensor& scale, const at::Tensor& bias);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_NORM_OPS_H_
