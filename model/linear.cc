#include "model/linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "model/onednn_linear.h"

namespace normlab::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The copy, as a function of the master: a cast whose result was computed when the master changed.
// Micro-batches add up in the master's gradient, so in fp32.
class ShadowFunction : public torch::autograd::Function<ShadowFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& master,
                            const at::Tensor& shadow) {
    context->saved_data["dtype"] = static_cast<int64_t>(master.scalar_type());
    return shadow.detach();
  }
  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    return {upstream[0].to(dtype), at::Tensor()};
  }
};

at::Tensor ReadShadow(const at::Tensor& master, const at::Tensor& shadow) {
  if (!master.defined()) return {};
  return ShadowFunction::apply(master, shadow);
}

}  // namespace

LinearParams BindLinear(const ModelSpec& spec, const Parameters& parameters,
                        const std::string& name) {
  LinearParams params;
  params.weight = parameters.Find(name + ".weight");
  params.bias = parameters.Find(name + ".bias");
  if (spec.precision == Precision::kBf16) {
    params.weight_shadow = parameters.FindShadow(name + ".weight");
    params.bias_shadow = parameters.FindShadow(name + ".bias");
  }
  return params;
}

at::Tensor Linear(const LinearParams& params, const at::Tensor& x) {
  if (!params.weight_shadow.defined()) return FastLinear(x, params.weight, params.bias);
  return at::linear(x.to(at::kBFloat16), ReadShadow(params.weight, params.weight_shadow),
                    ReadShadow(params.bias, params.bias_shadow));
}

}  // namespace normlab::model
