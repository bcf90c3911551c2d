// Residual updates as one autograd node: saves x (only for the post norm), g, the new stream (only
// for the next norm) and two numbers per row and norm.
#include "kernels/torch/residual_ops.h"

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty.h>

#include <array>

#include "kernels/torch/device_calls.h"
#include "kernels/torch/tensor_access.h"

namespace normlab::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr std::size_t kStages = 3;  // branch, post, next

// What the node keeps beside tensors; a custom class would be the alternative to saved_data.
struct Form {
  double a, b;
  std::array<bool, kStages> present;
  std::array<normlab_norm_options, kStages> options;
};

Form FormOf(const ResidualSpec& spec) {
  Form form{spec.a, spec.b, {}, {}};
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

std::vector<double> Packed(const Form& form) {
  std::vector<double> numbers = {form.a, form.b};
  for (std::size_t k = 0; k < kStages; ++k) {
    numbers.insert(numbers.end(), {form.present[k] ? 1.0 : 0.0, double(form.options[k].kind),
                                   form.options[k].eps, double(form.options[k].pb_relax)});
  }
  return numbers;
}

Form Unpacked(const std::vector<double>& numbers) {
  Form form{numbers[0], numbers[1], {}, {}};
  for (std::size_t k = 0; k < kStages; ++k) {
    const double* at = &numbers[2 + 4 * k];
    form.present[k] = at[0] != 0;
    form.options[k] = {static_cast<normlab_norm_kind>(static_cast<int>(at[1])), at[2],
                       static_cast<int>(at[3])};
  }
  return form;
}

// The C form together with the tensors that its pointers point into.
struct BoundForm {
  normlab_residual_form form{};
  std::array<at::Tensor, 2 * kStages> parameters;
  at::Tensor factors;  // [D], or undefined
  at::Tensor number;   // one element that multiplies b, or undefined

  // parameters: gain and bias of each stage; b_tensor may be undefined.
  BoundForm(const Form& wanted, const variable_list& given, const at::Tensor& b_tensor,
            const at::Tensor& stream) {
    form.a = wanted.a;
    form.b = wanted.b;
    if (b_tensor.defined() && b_tensor.numel() == 1) {
      number = b_tensor;
    } else if (b_tensor.defined()) {
      factors = AsParameter("b", b_tensor, stream);
      form.b_columns = factors.data_ptr();
    }
    normlab_norm_stage* stages[kStages] = {&form.branch, &form.post, &form.next};
    for (std::size_t k = 0; k < kStages; ++k) {
      parameters[2 * k] = AsParameter("gain", given[2 * k], stream);
      parameters[2 * k + 1] = AsParameter("bias", given[2 * k + 1], stream);
      stages[k]->present = wanted.present[k] ? 1 : 0;
      stages[k]->options = wanted.options[k];
      stages[k]->gain = DataOrNull(parameters[2 * k]);
      stages[k]->bias = DataOrNull(parameters[2 * k + 1]);
    }
  }

  normlab_norm_stage& stage(std::size_t k) {
    return k == 0 ? form.branch : k == 1 ? form.post : form.next;
  }
};

struct ResidualNode : torch::autograd::Function<ResidualNode> {
  // parameters: gain and bias of branch, post and next, then b_tensor; all may be undefined.
  using Optional = std::optional<at::Tensor>;

  static variable_list forward(AutogradContext* context, const Variable& x, const Variable& g,
                               const Optional& gain0, const Optional& bias0, const Optional& gain1,
                               const Optional& bias1, const Optional& gain2, const Optional& bias2,
                               const Optional& optional_b, const ResidualSpec& spec) {
    CheckSameSizes("x", x, "g", g);
    const Form form = FormOf(spec);
    const variable_list given = {OrUndefined(gain0), OrUndefined(bias0), OrUndefined(gain1),
                                 OrUndefined(bias1), OrUndefined(gain2), OrUndefined(bias2)};
    const at::Tensor b_tensor = OrUndefined(optional_b);
    BoundForm bound(form, given, b_tensor, x);
    at::Tensor stream = EmptyResult(x), next, saved[kStages];
    normlab_residual_forward_args args{};
    args.x = AsMatrix("x", x);
    args.g = AsMatrix("g", g);
    CheckProbes(spec.probes, x);
    args.stream = AsMatrix("stream", stream);
    if (form.present[2]) {
      next = EmptyResult(g);
      args.next = AsMatrix("next", next);
    }
    for (std::size_t k = 0; k < kStages; ++k) {
      if (!form.present[k]) continue;
      saved[k] = at::empty({args.x.rows, NORMLAB_NORM_SAVED}, x.options().dtype(RealType(x)));
      bound.stage(k).saved = saved[k].data_ptr();
    }
    args.probes = DataOrNull(spec.probes);
    CallResidualForward(x, bound.form, bound.number, args);

    variable_list kept = {form.present[1] ? x : Variable(), g,
                          form.present[2] ? stream : Variable(), b_tensor};
    kept.insert(kept.end(), given.begin(), given.end());
    kept.insert(kept.end(), saved, saved + kStages);
    context->save_for_backward(std::move(kept));
    context->saved_data["form"] = Packed(form);
    context->saved_data["stream_type"] = static_cast<std::int64_t>(x.scalar_type());
    context->set_materialize_grads(false);
    if (!next.defined()) return {stream};
    return {stream, next};
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const variable_list kept = context->get_saved_variables();
    const at::Tensor &x = kept[0], &g = kept[1], &stream = kept[2], &b_tensor = kept[3];
    const variable_list given(kept.begin() + 4, kept.begin() + 10);
    const Form form = Unpacked(context->saved_data["form"].toDoubleVector());
    const auto type = static_cast<at::ScalarType>(context->saved_data["stream_type"].toInt());
    at::Tensor dx = EmptyResult(g, type);
    BoundForm bound(form, given, b_tensor, dx);

    const variable_list contiguous = Contiguous(upstream);
    normlab_residual_backward_args args{};
    args.dx = AsMatrix("dx", dx);
    args.g = AsMatrix("g", g);
    if (contiguous[0].defined()) args.dstream = AsMatrix("dstream", contiguous[0]);
    if (contiguous[1].defined()) args.dnext = AsMatrix("dnext", contiguous[1]);
    if (x.defined()) args.x = AsMatrix("x", x);
    if (stream.defined()) args.stream = AsMatrix("stream", stream);
    const bool alike = bound.form.a == bound.form.b && !form.present[0] && !b_tensor.defined() &&
                       dx.scalar_type() == g.scalar_type();
    at::Tensor dg = alike ? dx : EmptyResult(g);
    if (!alike) args.dg = AsMatrix("dg", dg);
    return Run(bound, args, given, b_tensor, {kept.begin() + 10, kept.end()}, form.b, dx, dg);
  }

 private:
  static variable_list Contiguous(const variable_list& upstream) {
    variable_list result(2);
    for (std::size_t i = 0; i < upstream.size(); ++i) {
      if (upstream[i].defined()) result[i] = upstream[i].contiguous();
    }
    return result;
  }

  // Binds the outputs that are wanted, runs, and puts the gradients in the order of the inputs.
  static variable_list Run(BoundForm& bound, normlab_residual_backward_args& args,
                           const variable_list& given, const at::Tensor& b_tensor,
                           const variable_list& saved, double b, const at::Tensor& dx,
                           const at::Tensor& dg) {
    const auto real = dx.options().dtype(RealType(dx));
    variable_list gradients(2 * kStages);
    for (std::size_t k = 0; k < kStages; ++k) {
      normlab_norm_stage& stage = bound.stage(k);
      stage.saved = DataOrNull(saved[k]);
      for (std::size_t i = 2 * k; i < 2 * k + 2; ++i) {
        if (given[i].defined() && given[i].requires_grad()) {
          gradients[i] = at::empty({args.dx.cols}, real);
        }
      }
      stage.dgain = DataOrNull(gradients[2 * k]);
      stage.dbias = DataOrNull(gradients[2 * k + 1]);
    }
    at::Tensor by_column, db;
    if (bound.number.defined()) {
      db = at::empty({1}, dx.options().dtype(at::kDouble));
      args.db = db.data_ptr<double>();
    } else if (b_tensor.defined()) {
      by_column = at::empty({args.dx.cols}, real);
      args.db_columns = by_column.data_ptr();
    }
    CallResidualBackward(dx, bound.form, bound.number, args);

    variable_list result = {dx, dg};
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor& gradient = gradients[i];
      result.push_back(gradient.defined() ? gradient.to(given[i].scalar_type()) : gradient);
    }
    if (db.defined()) {
      result.push_back(db.mul(b).to(b_tensor.scalar_type()).reshape(b_tensor.sizes()));
    } else {
      result.push_back(by_column.defined() ? by_column.to(b_tensor.scalar_type()) : by_column);
    }
    result.emplace_back();  // the spec has no gradient
    return result;
  }
};

std::optional<at::Tensor> GainOf(const std::optional<NormSpec>& norm) {
  return norm.has_value() ? AsOptional(norm->gain) : std::nullopt;
}

std::optional<at::Tensor> BiasOf(const std::optional<NormSpec>& norm) {
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
