// LayerNorm and RMSNorm as an autograd node: saves x, the gain and two numbers per row.
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

struct NormNode : torch::autograd::Function<NormNode> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const OptionalTensor& gain, const OptionalTensor& bias,
                            const std::vector<double>& options, bool to_bf16) {
    static const Pass pass("normlab::_norm_forward", &NormForward);
    const Tensors outputs = pass(x, gain, bias, options, to_bf16);
    context->save_for_backward({x, outputs[1], OrUndefined(gain), OrUndefined(bias)});
    context->saved_data["options"] = options;
    return outputs[0];
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    static const Pass pass("normlab::_norm_backward", &NormBackward);
    const variable_list kept = context->get_saved_variables();
    const at::Tensor &x = kept[0], &gain = kept[2], &bias = kept[3];
    const at::Tensor g = upstream[0].contiguous();
    const bool want_gain = gain.defined() && gain.requires_grad();
    const bool want_bias = bias.defined() && bias.requires_grad();
    const Tensors gradients = DifferentiableOnce(
        "layernorm or rmsnorm",
        pass(g, x, kept[1], AsOptional(gain), AsOptional(bias),
             context->saved_data["options"].toDoubleVector(), want_gain, want_bias),
        {g, x, gain});
    return {gradients[0],
            want_gain ? gradients[1] : at::Tensor(),
            want_bias ? gradients.back() : at::Tensor(),
            {},
            {}};
  }
};

}  // namespace

at::Tensor Norm(const at::Tensor& x, const NormSpec& spec, bool to_bf16) {
  return NormNode::apply(x, AsOptional(spec.gain), AsOptional(spec.bias),
                         Packed(normlab_norm_options{spec.kind, spec.eps, spec.pb_relax ? 1 : 0}),
                         to_bf16);
}

at::Tensor LayerNorm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias,
                     double eps) {
  return Norm(x, {NORMLAB_LAYERNORM, gain, bias, eps, false});
}

at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& gain, double eps) {
  return Norm(x, {NORMLAB_RMSNORM, gain, {}, eps, false});
}

}  // namespace normlab::kernels
