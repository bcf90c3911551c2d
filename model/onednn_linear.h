// Matrix products of the linear layers on the CPU in fp32.
#ifndef NORMLAB_MODEL_ONEDNN_LINEAR_H_
#define NORMLAB_MODEL_ONEDNN_LINEAR_H_

#include <ATen/core/Tensor.h>

namespace normlab::model {

// x·Wᵀ + bias for x [..., in], W [out, in], bias [out] or undefined; what at::linear gives, up to
// rounding, differentiable any number of times. fp32 on the CPU goes through oneDNN: MKL, which
// LibTorch takes there, keeps its fast code for one maker's processors (oneDNN was up to 1.35 times
// faster on others). Everything else, and a LibTorch without oneDNN, takes at::linear.
at::Tensor FastLinear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_ONEDNN_LINEAR_H_
