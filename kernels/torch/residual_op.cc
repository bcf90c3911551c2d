// Residual updates as one autograd node: saves x (only for the post norm), g, the new stream (only
// for the next norm) and two numbers per row and norm.
#include "kernels/torch/residual_ops.h"

#include <torch/csrc/autograd/custom_function.h>

#include "kernels/torch/differentiable_once.h"
#include "kernels/torch/dispatch.h"
#include "kernels/torch/passes.h"
#include "kernels/torch/tensor_access.h"

namespace normlab::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

ResidualForm FormOf(const ResidualSpec& spec) {
  ResidualForm form{spec.a, spec.b};
  const std::optional<NormSpec>* norms[kStages] = {&spec.branch_norm, &spec.post_norm,
                                                   &spec.next_norm};
  for (std::size_t k = 0; k < kStages; ++k) {
    form.present[k] = norms[k]->has_value();
    if (!form.present[k]) continue;
    const NormSpec& norm = **norms[k];
    form.options[k] = {norm.kind, norm.eps, norm.pb_relax ? 1 : 0};
  }
  return form;
}

Tensors ForwardPass(const at::Tensor& x, const at::Tensor& g, const ResidualParameters& parameters,
                    const std::vector<double>& form, const at::Tensor& probes) {
  if (probes.defined()) return ObservedResidualForward(x, g, parameters, form, probes);
  static const Pass pass("normlab::_residual_forward", &ResidualForward);
  return pass(x, g, parameters, form);
}

struct ResidualNode : torch::autograd::Function<ResidualNode> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& g,
                               const OptionalTensor& gain0, const OptionalTensor& bias0,
                               const OptionalTensor& gain1, const OptionalTensor& bias1,
                               const OptionalTensor& gain2, const OptionalTensor& bias2,
                               const OptionalTensor& b, const ResidualSpec& spec) {
    const ResidualForm form = FormOf(spec);
    const std::vector<double> numbers = Packed(form);
    const ResidualParameters parameters({gain0, bias0, gain1, bias1, gain2, bias2, b});
    const Tensors outputs = ForwardPass(x, g, parameters, numbers, spec.probes);

    const at::Tensor& stream = outputs[0];
    const std::size_t results = form.present[2] ? 2 : 1;
    variable_list kept = {form.present[1] ? x : at::Tensor(), g,
                          form.present[2] ? stream : at::Tensor()};
    for (const auto& parameter : parameters) kept.push_back(OrUndefined(parameter));
    kept.insert(kept.end(), outputs.begin() + results, outputs.end());
    context->save_for_backward(std::move(kept));
    context->saved_data["form"] = numbers;
    context->saved_data["stream_type"] = static_cast<std::int64_t>(x.scalar_type());
    context->set_materialize_grads(false);
    return {outputs.begin(), outputs.begin() + results};
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const variable_list kept = context->get_saved_variables();
    const auto first_saved = kept.begin() + 3 + kResidualParameters;
    const variable_list given(kept.begin() + 3, first_saved), saved(first_saved, kept.end());
    ResidualParameters parameters;
    for (const at::Tensor& parameter : given) parameters.push_back(AsOptional(parameter));
    std::int64_t wanted = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].defined() && given[i].requires_grad()) wanted |= std::int64_t{1} << i;
    }
    const std::vector<double> numbers = context->saved_data["form"].toDoubleVector();
    const auto type = static_cast<at::ScalarType>(context->saved_data["stream_type"].toInt());
    const OptionalTensor dstream = Contiguous(upstream[0]);
    const OptionalTensor dnext = upstream.size() > 1 ? Contiguous(upstream[1]) : std::nullopt;

    static const Pass pass("normlab::_residual_backward", &ResidualBackward);
    variable_list inputs = {kept[0], kept[1], kept[2], OrUndefined(dstream), OrUndefined(dnext)};
    inputs.insert(inputs.end(), given.begin(), given.end());
    const Tensors gradients =
        DifferentiableOnce("residual",
                           pass(dstream, dnext, AsOptional(kept[0]), kept[1], AsOptional(kept[2]),
                                parameters, saved, numbers, wanted, type),
                           inputs);
    const bool shared =
        SharesGradient(UnpackedForm(numbers), given.back().defined(), type, kept[1].scalar_type());
    return InOrder(gradients, shared, wanted);
  }

 private:
  static OptionalTensor Contiguous(const at::Tensor& upstream) {
    return upstream.defined() ? OptionalTensor(upstream.contiguous()) : std::nullopt;
  }

  // The gradients in the order of the inputs.
  static variable_list InOrder(const Tensors& gradients, bool shared, std::int64_t wanted) {
    std::size_t next = shared ? 0 : 1;
    variable_list result = {gradients[0], gradients[next++]};
    for (std::size_t i = 0; i < kResidualParameters; ++i) {
      result.push_back((wanted >> i & 1) != 0 ? gradients[next++] : at::Tensor());
    }
    result.emplace_back();  // the spec has no gradient
    return result;
  }
};

OptionalTensor GainOf(const std::optional<NormSpec>& norm) {
  return norm.has_value() ? AsOptional(norm->gain) : std::nullopt;
}

OptionalTensor BiasOf(const std::optional<NormSpec>& norm) {
  return norm.has_value() ? AsOptional(norm->bias) : std::nullopt;
}

}  // namespace

ResidualResult Residual(const at::Tensor& x, const at::Tensor& g, const ResidualSpec& spec) {
  const variable_list outputs =
      ResidualNode::apply(x, g, GainOf(spec.branch_norm), BiasOf(spec.branch_norm),
                          GainOf(spec.post_norm), BiasOf(spec.post_norm), GainOf(spec.next_norm),
                          BiasOf(spec.next_norm), AsOptional(spec.b_tensor), spec);
  return {outputs[0], outputs.size() > 1 ? outputs[1] : at::Tensor()};
}

}  // namespace normlab::kernels
