// The kernels' passes as operations of LibTorch's dispatcher (torch.ops.normlab._geonorm_forward
// and so on), of which the autograd nodes of *_op.cc are made: whatever stands between, such as the
// fake tensors of a tracer, sees them. They have no gradients of their own, outputs are new
// tensors, and a list holds those that there are, in the order given here.
#ifndef NORMLAB_KERNELS_TORCH_PASSES_H_
#define NORMLAB_KERNELS_TORCH_PASSES_H_

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <vector>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

using OptionalTensor = std::optional<at::Tensor>;
using Tensors = std::vector<at::Tensor>;

// The options as the dispatcher takes them.
std::vector<double> Packed(const normlab_geonorm_options& options);
std::vector<double> Packed(const normlab_norm_options& options);

// {y, saved}. scale and bias: learned numbers of one element each.
Tensors GeoNormForward(const at::Tensor& x, const at::Tensor& v, const OptionalTensor& scale,
                       const OptionalTensor& bias, at::ArrayRef<double> options);
// {dx, dv, dscale, dbias}, the last two where there is such a number.
Tensors GeoNormBackward(const at::Tensor& g, const at::Tensor& x, const at::Tensor& v,
                        const at::Tensor& saved, const OptionalTensor& scale,
                        const OptionalTensor& bias, at::ArrayRef<double> options);
// The forward pass past the dispatcher, for what is written into tensors that there are:
// zero_rows and probes as in norm_ops.h, either may be undefined.
Tensors ObservedGeoNormForward(const at::Tensor& x, const at::Tensor& v,
                               const OptionalTensor& scale, const OptionalTensor& bias,
                               at::ArrayRef<double> options, const at::Tensor& zero_rows,
                               const at::Tensor& probes);

// {y, saved}.
Tensors NormForward(const at::Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
                    at::ArrayRef<double> options, bool to_bf16);
// {dx, dgain, dbias}, the last two where wanted.
Tensors NormBackward(const at::Tensor& g, const at::Tensor& x, const at::Tensor& saved,
                     const OptionalTensor& gain, const OptionalTensor& bias,
                     at::ArrayRef<double> options, bool want_gain, bool want_bias);

constexpr std::size_t kStages = 3;  // branch, post, next
// A residual update without its tensors.
struct ResidualForm {
  double a = 1, b = 1;
  std::array<bool, kStages> present = {};
  std::array<normlab_norm_options, kStages> options = {};
};
std::vector<double> Packed(const ResidualForm& form);
ResidualForm UnpackedForm(at::ArrayRef<double> numbers);

// Gain and bias of branch, post and next, then the learned b.
constexpr std::size_t kResidualParameters = 2 * kStages + 1;
using ResidualParameters = c10::List<OptionalTensor>;

// {stream, next, saved of branch, post and next}, where there are such norms.
Tensors ResidualForward(const at::Tensor& x, const at::Tensor& g,
                        const ResidualParameters& parameters, at::ArrayRef<double> form);
Tensors ObservedResidualForward(const at::Tensor& x, const at::Tensor& g,
                                const ResidualParameters& parameters, at::ArrayRef<double> form,
                                const at::Tensor& probes);
// {dx, dg, gradients of the parameters}: dg where it is not dx, parameter i's gradient where bit i
// of `wanted` is set. `saved` as from the forward pass.
Tensors ResidualBackward(const OptionalTensor& dstream, const OptionalTensor& dnext,
                         const OptionalTensor& x, const at::Tensor& g, const OptionalTensor& stream,
                         const ResidualParameters& parameters, at::TensorList saved,
                         at::ArrayRef<double> form, std::int64_t wanted,
                         at::ScalarType stream_type);
// Whether the gradients of x and of g are one tensor.
bool SharesGradient(const ResidualForm& form, bool learned_b, at::ScalarType stream,
                    at::ScalarType branch);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_PASSES_H_
