// LayerNorm and RMSNorm as an autograd node: saves x, the gain and two numbers per row.
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty.h>

#include "kernels/torch/device_calls.h"
#include "kernels/torch/norm_ops.h"
#include "kernels/torch/tensor_access.h"

namespace normlab::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct NormNode : torch::autograd::Function<NormNode> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const std::optional<at::Tensor>& optional_gain,
                            const std::optional<at::Tensor>& optional_bias, std::int64_t kind,
                            double eps, bool pb_relax, bool to_bf16) {
    const normlab_norm_options options{static_cast<normlab_norm_kind>(kind), eps, pb_relax ? 1 : 0};
    const at::Tensor gain = OrUndefined(optional_gain), bias = OrUndefined(optional_bias);
    const at::Tensor real_gain = AsParameter("gain", gain, x);
    const at::Tensor real_bias = AsParameter("bias", bias, x);
    at::Tensor y = EmptyResult(x, to_bf16 ? at::kBFloat16 : x.scalar_type());
    normlab_norm_forward_args args{AsMatrix("x", x), DataOrNull(real_gain), DataOrNull(real_bias),
                                   AsMatrix("y", y), nullptr};
    at::Tensor saved = at::empty({args.x.rows, NORMLAB_NORM_SAVED}, x.options().dtype(RealType(x)));
    args.saved = saved.data_ptr();
    CallNormForward(x, options, args);

    context->save_for_backward({x, saved, gain, bias});
    context->saved_data["kind"] = kind;
    context->saved_data["eps"] = eps;
    context->saved_data["pb_relax"] = pb_relax;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const variable_list kept = context->get_saved_variables();
    const at::Tensor &x = kept[0], &saved = kept[1], &gain = kept[2], &bias = kept[3];
    const at::Tensor g = upstream[0].contiguous();
    const normlab_norm_options options{
        static_cast<normlab_norm_kind>(context->saved_data["kind"].toInt()),
        context->saved_data["eps"].toDouble(), context->saved_data["pb_relax"].toBool() ? 1 : 0};

    const auto real = x.options().dtype(RealType(x));
    const at::Tensor real_gain = AsParameter("gain", gain, x);
    const bool want_gain = gain.defined() && gain.requires_grad();
    const bool want_bias = bias.defined() && bias.requires_grad();
    at::Tensor dx = EmptyResult(x), dgain, dbias;
    normlab_norm_backward_args args{AsMatrix("g", g),
                                    AsMatrix("x", x),
                                    DataOrNull(real_gain),
                                    saved.data_ptr(),
                                    AsMatrix("dx", dx),
                                    nullptr,
                                    nullptr,
                                    nullptr};
    if (want_gain) dgain = at::empty({args.x.cols}, real);
    if (want_bias) dbias = at::empty({args.x.cols}, real);
    args.dgain = DataOrNull(dgain);
    args.dbias = DataOrNull(dbias);
    CallNormBackward(x, options, args);
    if (want_gain) dgain = dgain.to(gain.scalar_type());
    if (want_bias) dbias = dbias.to(bias.scalar_type());
    return {dx, dgain, dbias, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor Norm(const at::Tensor& x, const NormSpec& spec, bool to_bf16) {
  return NormNode::apply(x, AsOptional(spec.gain), AsOptional(spec.bias),
                         static_cast<std::int64_t>(spec.kind), spec.eps, spec.pb_relax, to_bf16);
}

at::Tensor LayerNorm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias,
                     double eps) {
  return Norm(x, {NORMLAB_LAYERNORM, gain, bias, eps, false});
}

at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& gain, double eps) {
  return Norm(x, {NORMLAB_RMSNORM, gain, {}, eps, false});
}

}  // namespace normlab::kernels
