// Fused residual updates as differentiable operations; tensors as in norm_ops.h.
#ifndef NORMLAB_KERNELS_TORCH_RESIDUAL_OPS_H_
#define NORMLAB_KERNELS_TORCH_RESIDUAL_OPS_H_

#include <optional>

#include "kernels/torch/norm_ops.h"

namespace normlab::kernels {

struct ResidualSpec {
  double a = 1.0;
  double b = 1.0;
  at::Tensor b_tensor;  // [1] or [D], floating; multiplies b and receives a gradient
  std::optional<NormSpec> branch_norm, post_norm, next_norm;
  // Where defined: [rows, NORMLAB_ROW_PROBES] in the type of the arithmetic; overwritten with
  // mean |s|, sum s^2 and the angle between x and s, s the new stream.
  at::Tensor probes;
};

struct ResidualResult {
  at::Tensor stream;  // type of x
  at::Tensor next;    // type of g; undefined without next_norm
};

// stream = post(a·x + b·branch(g)), next = next_norm(stream); a norm that is not there is the
// identity. One pass over memory in each direction.
ResidualResult Residual(const at::Tensor& x, const at::Tensor& g, const ResidualSpec& spec);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_RESIDUAL_OPS_H_
