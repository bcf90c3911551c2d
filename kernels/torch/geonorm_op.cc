// GeoNorm as an autograd node: saves x, v and four numbers per row.
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/torch/differentiable_once.h"
#include "kernels/torch/dispatch.h"
#include "kernels/torch/norm_ops.h"
#include "kernels/torch/passes.h"
#include "kernels/torch/tensor_access.h"

namespace normlab::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

normlab_geonorm_options AsOptions(const GeoNormOptions& options) {
  return {options.retraction, options.alpha,       options.scale,
          options.bias,       options.angle_clamp, options.has_fixed_angle ? 1 : 0,
          options.fixed_angle};
}

Tensors Forward(const at::Tensor& x, const at::Tensor& v, const OptionalTensor& scale,
                const OptionalTensor& bias, const std::vector<double>& numbers,
                const GeoNormOptions& asked) {
  if (asked.zero_rows.defined() || asked.probes.defined()) {
    return ObservedGeoNormForward(x, v, scale, bias, numbers, asked.zero_rows, asked.probes);
  }
  static const Pass pass("normlab::_geonorm_forward", &GeoNormForward);
  return pass(x, v, scale, bias, numbers);
}

struct GeoNormNode : torch::autograd::Function<GeoNormNode> {
  // scale and bias are inputs of the node only so that their gradients have somewhere to go.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& v,
                            const OptionalTensor& scale, const OptionalTensor& bias,
                            const GeoNormOptions& asked) {
    const std::vector<double> numbers = Packed(AsOptions(asked));
    const Tensors outputs = Forward(x, v, scale, bias, numbers, asked);
    context->save_for_backward({x, v, outputs[1], OrUndefined(scale), OrUndefined(bias)});
    context->saved_data["options"] = numbers;
    return outputs[0];
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    static const Pass pass("normlab::_geonorm_backward", &GeoNormBackward);
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &v = saved[1], &scale = saved[3], &bias = saved[4];
    const at::Tensor g = upstream[0].contiguous();
    const Tensors gradients =
        DifferentiableOnce("geonorm",
                           pass(g, x, v, saved[2], AsOptional(scale), AsOptional(bias),
                                context->saved_data["options"].toDoubleVector()),
                           {g, x, v, scale, bias});
    std::size_t next = 2;
    const at::Tensor dscale = scale.defined() ? gradients[next++] : at::Tensor();
    const at::Tensor dbias = bias.defined() ? gradients[next] : at::Tensor();
    return {gradients[0], gradients[1], dscale, dbias, {}};
  }
};

}  // namespace

at::Tensor GeoNorm(const at::Tensor& x, const at::Tensor& v, const GeoNormOptions& options) {
  return GeoNormNode::apply(x, v, AsOptional(options.scale_tensor), AsOptional(options.bias_tensor),
                            options);
}

}  // namespace normlab::kernels
