// GeoNorm as an autograd node: saves x, v and four numbers per row.
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty.h>

#include "kernels/torch/device_calls.h"
#include "kernels/torch/norm_ops.h"
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

// The element of dL/d(alpha, scale, bias) that belongs to a parameter of one element.
at::Tensor GradientOf(const at::Tensor& parameter, const at::Tensor& dangle, std::int64_t which) {
  if (!parameter.defined()) return {};
  return dangle.select(0, which).to(parameter.scalar_type()).reshape(parameter.sizes());
}

struct GeoNormNode : torch::autograd::Function<GeoNormNode> {
  // scale and bias are inputs of the node only so that their gradients have somewhere to go.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& v,
                            const std::optional<at::Tensor>& scale,
                            const std::optional<at::Tensor>& bias, const GeoNormOptions& asked) {
    CheckSameSizes("x", x, "v", v);
    const normlab_geonorm_options options = AsOptions(asked);
    at::Tensor y = EmptyResult(x);
    normlab_geonorm_forward_args args{AsMatrix("x", x), AsMatrix("v", v), AsMatrix("y", y),
                                      nullptr,          nullptr,          nullptr};
    CheckProbes(asked.probes, x);
    at::Tensor saved =
        at::empty({args.x.rows, NORMLAB_GEONORM_SAVED}, x.options().dtype(RealType(x)));
    args.saved = saved.data_ptr();
    args.probes = DataOrNull(asked.probes);
    CallGeoNormForward(x, options, {OrUndefined(scale), OrUndefined(bias)}, args, asked.zero_rows);

    context->save_for_backward({x, v, saved, OrUndefined(scale), OrUndefined(bias)});
    for (const auto& [name, number] : Numbers(options)) context->saved_data[name] = number;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &v = saved[1];
    const at::Tensor g = upstream[0].contiguous();
    const normlab_geonorm_options options = FromNumbers(context);
    at::Tensor dx = EmptyResult(x), dv = EmptyResult(v);
    at::Tensor dangle;
    if (saved[3].defined() || saved[4].defined()) {
      dangle = at::empty({3}, x.options().dtype(at::kDouble));
    }
    const normlab_geonorm_backward_args args{AsMatrix("g", g),
                                             AsMatrix("x", x),
                                             AsMatrix("v", v),
                                             saved[2].data_ptr(),
                                             AsMatrix("dx", dx),
                                             AsMatrix("dv", dv),
                                             static_cast<double*>(DataOrNull(dangle))};
    CallGeoNormBackward(x, options, {saved[3], saved[4]}, args);
    return {dx, dv, GradientOf(saved[3], dangle, 1), GradientOf(saved[4], dangle, 2), {}};
  }

 private:
  static std::vector<std::pair<const char*, double>> Numbers(const normlab_geonorm_options& o) {
    return {{"retraction", static_cast<double>(o.retraction)},
            {"alpha", o.alpha},
            {"scale", o.scale},
            {"bias", o.bias},
            {"angle_clamp", o.angle_clamp},
            {"has_fixed_angle", static_cast<double>(o.has_fixed_angle)},
            {"fixed_angle", o.fixed_angle}};
  }

  static normlab_geonorm_options FromNumbers(AutogradContext* context) {
    const auto number = [&](const char* name) { return context->saved_data[name].toDouble(); };
    return {static_cast<normlab_retraction>(static_cast<int>(number("retraction"))),
            number("alpha"),
            number("scale"),
            number("bias"),
            number("angle_clamp"),
            number("has_fixed_angle") != 0 ? 1 : 0,
            number("fixed_angle")};
  }
};

}  // namespace

at::Tensor GeoNorm(const at::Tensor& x, const at::Tensor& v, const GeoNormOptions& options) {
  return GeoNormNode::apply(x, v, AsOptional(options.scale_tensor), AsOptional(options.bias_tensor),
                            options);
}

}  // namespace normlab::kernels
