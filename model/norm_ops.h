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

// The residual stream, and its norm for whoever reads it next, where that came out of the same pass
// over memory; else undefined.
struct Stream {
  at::Tensor x, normed;
};

// How a branch u joins the stream x without leaving the plane: a·x + b·scale·N(u), then the post
// norm where there is one; `next` is the norm through which the new stream will be read.
struct JoinSpec {
  double a = 1;
  double b = 1;
  at::Tensor scale;                    // [1], [d] or undefined
  const NormParams* branch = nullptr;  // N; null: u as it is
  const NormParams* post = nullptr;    // null: no norm afterwards
  const NormParams* next = nullptr;    // null: not known, or none
};
Stream JoinBranch(const ModelSpec& spec, const JoinSpec& join, const at::Tensor& x,
                  const at::Tensor& u);

// The learned parts of an angle, [1] each, or undefined; and where to count rows with x = 0: an
// int64 [1] that is added to, or undefined.
struct SphereParams {
  at::Tensor scale, bias, zero_rows;
};

// The geodesic step from x along the branch v.
at::Tensor SphereStep(const ModelSpec& spec, const AngleSpec& angle, const SphereParams& params,
                      const at::Tensor& x, const at::Tensor& v);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_NORM_OPS_H_
