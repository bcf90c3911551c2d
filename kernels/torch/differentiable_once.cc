#include "kernels/torch/differentiable_once.h"

#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>

namespace normlab::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Its inputs are those of the backward pass, so that whoever differentiates by one of them meets it
// on the way.
struct RefusingNode : torch::autograd::Function<RefusingNode> {
  static variable_list forward(AutogradContext* context, at::TensorList /*inputs*/,
                               const variable_list* gradients, const char* operation) {
    context->saved_data["operation"] = std::string(operation);
    return *gradients;
  }
  static variable_list backward(AutogradContext* context, const variable_list&) {
    TORCH_CHECK(false, "normlab: the backward pass of ",
                context->saved_data["operation"].toStringRef(),
                " has no derivative; for gradients of gradients compose the operation of tensor "
                "operations");
  }
};

}  // namespace

std::vector<at::Tensor> DifferentiableOnce(const char* operation, std::vector<at::Tensor> gradients,
                                           const std::vector<at::Tensor>& inputs) {
  if (!c10::GradMode::is_enabled()) return gradients;
  variable_list defined;
  for (const at::Tensor& input : inputs) {
    if (input.defined()) defined.push_back(input);
  }
  return RefusingNode::apply(at::TensorList(defined), &gradients, operation);
}

}  // namespace normlab::kernels
