// The fused backward passes have no derivative. Where autograd records them (create_graph), their
// gradients would look like constants, and a penalty on a gradient would be quietly wrong.
#ifndef NORMLAB_KERNELS_TORCH_DIFFERENTIABLE_ONCE_H_
#define NORMLAB_KERNELS_TORCH_DIFFERENTIABLE_ONCE_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace normlab::kernels {

// `gradients`, worked out from `inputs` by the backward pass of `operation`; where autograd
// records, it throws c10::Error once somebody differentiates them. Undefined inputs do not count.
std::vector<at::Tensor> DifferentiableOnce(const char* operation, std::vector<at::Tensor> gradients,
                                           const std::vector<at::Tensor>& inputs);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_DIFFERENTIABLE_ONCE_H_
