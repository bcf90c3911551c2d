#include "model/onednn_linear.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

namespace normlab::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const std::optional<c10::OperatorHandle>& OneDnnOperator() {
  static const std::optional<c10::OperatorHandle> found =
      c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  return found;
}

// Boxed, so that one build serves every LibTorch whose operator takes these arguments.
at::Tensor Product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  torch::jit::Stack stack = {x,
                             weight,
                             bias.defined() ? c10::IValue(bias) : c10::IValue(),
                             std::string("none"),
                             c10::List<std::optional<at::Scalar>>(),
                             std::string()};
  OneDnnOperator()->callBoxed(stack);
  return stack.front().toTensor();
}

struct OneDnnLinear : torch::autograd::Function<OneDnnLinear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["bias"] = bias.has_value() && bias->requires_grad();
    return Product(x, weight, bias.value_or(at::Tensor()));
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &g = upstream[0];
    const at::Tensor rows_of_g = g.reshape({-1, g.size(-1)});
    at::Tensor dx, dweight, dbias;
    if (context->needs_input_grad(0)) {
      // A gradient that is to be differentiated again needs operations that have derivatives.
      dx = at::GradMode::is_enabled() ? at::matmul(g, weight) : Product(g, weight.t(), {});
    }
    if (context->needs_input_grad(1)) {
      // oneDNN would copy both factors to turn them round; here MKL is the faster one.
      dweight = at::mm(rows_of_g.t(), x.reshape({-1, x.size(-1)}));
    }
    if (context->saved_data["bias"].toBool()) dbias = rows_of_g.sum(0);
    return {dx, dweight, dbias};
  }
};

bool InFp32(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.numel() > 0;
}

}  // namespace

at::Tensor FastLinear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const bool fits = InFp32(x) && InFp32(weight) && at::globalContext().userEnabledMkldnn() &&
                    OneDnnOperator().has_value();
  if (!fits) return at::linear(x, weight, bias);
  return OneDnnLinear::apply(x, weight,
                             bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt);
}

}  // namespace normlab::model
