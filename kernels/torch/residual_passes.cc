// The passes of residual updates on tensors, and without them: shapes and types alone for the key
// Meta.
#include <torch/library.h>

#include <ATen/ops/empty.h>

#include "kernels/torch/device_calls.h"
#include "kernels/torch/passes.h"
#include "kernels/torch/register_pass.h"
#include "kernels/torch/tensor_access.h"

namespace normlab::kernels {
namespace {

constexpr std::size_t kLearnedB = kResidualParameters - 1;
constexpr const char* kNames[kResidualParameters] = {
    "branch_gain", "branch_bias", "post_gain", "post_bias", "next_gain", "next_bias", "b"};

at::Tensor Parameter(const ResidualParameters& parameters, std::size_t index) {
  return OrUndefined(parameters.get(index));
}

// The C form together with the tensors that its pointers point into.
struct BoundForm {
  normlab_residual_form form{};
  at::Tensor parameters[2 * kStages];
  at::Tensor factors;  // [D], or undefined
  at::Tensor number;   // one element that multiplies b, or undefined

  BoundForm(const ResidualForm& wanted, const ResidualParameters& given, const at::Tensor& stream) {
    form.a = wanted.a;
    form.b = wanted.b;
    const at::Tensor b = Parameter(given, kLearnedB);
    if (b.defined() && b.numel() == 1) {
      number = b;
    } else if (b.defined()) {
      factors = AsParameter("b", b, stream);
      form.b_columns = factors.data_ptr();
    }
    for (std::size_t k = 0; k < kStages; ++k) {
      for (std::size_t i = 2 * k; i < 2 * k + 2; ++i) {
        parameters[i] = AsParameter(kNames[i], Parameter(given, i), stream);
      }
      stage(k).present = wanted.present[k] ? 1 : 0;
      stage(k).options = wanted.options[k];
      stage(k).gain = DataOrNull(parameters[2 * k]);
      stage(k).bias = DataOrNull(parameters[2 * k + 1]);
    }
  }

  normlab_norm_stage& stage(std::size_t k) {
    return k == 0 ? form.branch : k == 1 ? form.post : form.next;
  }
  // In the order of the present stages.
  void BindSaved(const ResidualForm& wanted, at::TensorList saved) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < kStages; ++k) {
      if (wanted.present[k]) stage(k).saved = saved[next++].data_ptr();
    }
  }
};

void CheckParameters(const ResidualParameters& parameters, const at::Tensor& stream) {
  TORCH_CHECK(parameters.size() == kResidualParameters, "residual: ", kResidualParameters,
              " parameters are expected, not ", parameters.size());
  for (std::size_t i = 0; i < kLearnedB; ++i) {
    CheckParameter(kNames[i], Parameter(parameters, i), stream);
  }
  const at::Tensor b = Parameter(parameters, kLearnedB);
  if (!b.defined()) return;
  b.sym_numel() == 1 ? CheckNumber("b", b, stream) : CheckParameter("b", b, stream);
}

Tensors ForwardOutputs(const at::Tensor& x, const at::Tensor& g,
                       const ResidualParameters& parameters, at::ArrayRef<double> numbers) {
  CheckSameSizes("x", x, "g", g);
  CheckLayout("x", x);
  CheckLayout("g", g);
  CheckParameters(parameters, x);
  const ResidualForm form = UnpackedForm(numbers);
  Tensors outputs = {EmptyResult(x)};
  if (form.present[2]) outputs.push_back(EmptyResult(g));
  for (const bool present : form.present) {
    if (present) outputs.push_back(EmptyRowNumbers(x, NORMLAB_NORM_SAVED));
  }
  return outputs;
}

Tensors BackwardOutputs(const OptionalTensor& dstream, const OptionalTensor& dnext,
                        const OptionalTensor&, const at::Tensor& g, const OptionalTensor&,
                        const ResidualParameters& parameters, at::TensorList,
                        at::ArrayRef<double> numbers, std::int64_t wanted,
                        at::ScalarType stream_type) {
  if (dstream.has_value()) CheckLayout("dstream", *dstream);
  if (dnext.has_value()) CheckLayout("dnext", *dnext);
  Tensors outputs = {EmptyResult(g, stream_type)};
  const bool learned = parameters.get(kLearnedB).has_value();
  if (!SharesGradient(UnpackedForm(numbers), learned, stream_type, g.scalar_type())) {
    outputs.push_back(EmptyResult(g));
  }
  for (std::size_t i = 0; i < kResidualParameters; ++i) {
    if ((wanted >> i & 1) != 0) outputs.push_back(EmptyGradient(Parameter(parameters, i)));
  }
  return outputs;
}

// Gradients of parameters: made in the type of the arithmetic, then put into the outputs.
class ParameterGradients {
 public:
  ParameterGradients(std::int64_t wanted, Tensors::iterator outputs, const at::Tensor& dx) {
    for (std::size_t i = 0; i < kResidualParameters; ++i) {
      if ((wanted >> i & 1) != 0) outputs_[i] = *outputs++;
      if (i < kLearnedB && outputs_[i].defined()) real_[i] = RealGradient(outputs_[i], dx);
    }
  }

  void Bind(BoundForm& bound, const at::Tensor& dx, normlab_residual_backward_args& args) {
    for (std::size_t k = 0; k < kStages; ++k) {
      bound.stage(k).dgain = DataOrNull(real_[2 * k]);
      bound.stage(k).dbias = DataOrNull(real_[2 * k + 1]);
    }
    if (!outputs_[kLearnedB].defined()) return;
    if (bound.number.defined()) {
      real_[kLearnedB] = at::empty({1}, dx.options().dtype(at::kDouble));
      args.db = real_[kLearnedB].data_ptr<double>();
    } else {
      real_[kLearnedB] = RealGradient(outputs_[kLearnedB], dx);
      args.db_columns = real_[kLearnedB].data_ptr();
    }
  }

  // The kernels give dL/d(b·learned) for a number.
  void Take(const BoundForm& bound, double b) {
    if (bound.number.defined() && real_[kLearnedB].defined()) real_[kLearnedB].mul_(b);
    for (std::size_t i = 0; i < kResidualParameters; ++i) {
      if (real_[i].defined()) TakeGradient(real_[i], outputs_[i]);
    }
  }

 private:
  at::Tensor outputs_[kResidualParameters], real_[kResidualParameters];
};

}  // namespace

bool SharesGradient(const ResidualForm& form, bool learned_b, at::ScalarType stream,
                    at::ScalarType branch) {
  return form.a == form.b && !form.present[0] && !learned_b && stream == branch;
}

std::vector<double> Packed(const ResidualForm& form) {
  std::vector<double> numbers = {form.a, form.b};
  for (std::size_t k = 0; k < kStages; ++k) {
    numbers.insert(numbers.end(), {form.present[k] ? 1.0 : 0.0, double(form.options[k].kind),
                                   form.options[k].eps, double(form.options[k].pb_relax)});
  }
  return numbers;
}

ResidualForm UnpackedForm(at::ArrayRef<double> numbers) {
  TORCH_CHECK(numbers.size() == 2 + 4 * kStages, "residual: ", 2 + 4 * kStages,
              " numbers are expected, not ", numbers.size());
  ResidualForm form{numbers[0], numbers[1]};
  for (std::size_t k = 0; k < kStages; ++k) {
    const double* at = &numbers[2 + 4 * k];
    form.present[k] = at[0] != 0;
    form.options[k] = {static_cast<normlab_norm_kind>(static_cast<int>(at[1])), at[2],
                       static_cast<int>(at[3])};
  }
  return form;
}

Tensors ObservedResidualForward(const at::Tensor& x, const at::Tensor& g,
                                const ResidualParameters& parameters, at::ArrayRef<double> numbers,
                                const at::Tensor& probes) {
  Tensors outputs = ForwardOutputs(x, g, parameters, numbers);
  CheckProbes(probes, x);
  const ResidualForm form = UnpackedForm(numbers);
  BoundForm bound(form, parameters, x);
  normlab_residual_forward_args args{};
  args.x = AsMatrix("x", x);
  args.g = AsMatrix("g", g);
  args.stream = AsMatrix("stream", outputs[0]);
  if (form.present[2]) args.next = AsMatrix("next", outputs[1]);
  bound.BindSaved(form, at::TensorList(outputs).slice(form.present[2] ? 2 : 1));
  args.probes = DataOrNull(probes);
  CallResidualForward(x, bound.form, bound.number, args);
  return outputs;
}

Tensors ResidualForward(const at::Tensor& x, const at::Tensor& g,
                        const ResidualParameters& parameters, at::ArrayRef<double> form) {
  return ObservedResidualForward(x, g, parameters, form, {});
}

Tensors ResidualBackward(const OptionalTensor& dstream, const OptionalTensor& dnext,
                         const OptionalTensor& x, const at::Tensor& g, const OptionalTensor& stream,
                         const ResidualParameters& parameters, at::TensorList saved,
                         at::ArrayRef<double> numbers, std::int64_t wanted,
                         at::ScalarType stream_type) {
  Tensors outputs = BackwardOutputs(dstream, dnext, x, g, stream, parameters, saved, numbers,
                                    wanted, stream_type);
  const ResidualForm form = UnpackedForm(numbers);
  const bool learned = parameters.get(kLearnedB).has_value();
  const bool shared = SharesGradient(form, learned, stream_type, g.scalar_type());
  const at::Tensor& dx = outputs[0];
  BoundForm bound(form, parameters, dx);
  bound.BindSaved(form, saved);
  normlab_residual_backward_args args{};
  args.dx = AsMatrix("dx", dx);
  args.g = AsMatrix("g", g);
  if (dstream.has_value()) args.dstream = AsMatrix("dstream", *dstream);
  if (dnext.has_value()) args.dnext = AsMatrix("dnext", *dnext);
  if (x.has_value()) args.x = AsMatrix("x", *x);
  if (stream.has_value()) args.stream = AsMatrix("stream", *stream);
  if (!shared) args.dg = AsMatrix("dg", outputs[1]);
  ParameterGradients gradients(wanted, outputs.begin() + (shared ? 1 : 2), dx);
  gradients.Bind(bound, dx, args);
  CallResidualBackward(dx, bound.form, bound.number, args);
  gradients.Take(bound, form.b);
  return outputs;
}

TORCH_LIBRARY_FRAGMENT(normlab, library) {
  RegisterPass(
      library,
      "_residual_forward(Tensor x, Tensor g, Tensor?[] parameters, float[] form) -> Tensor[]",
      &ResidualForward, &ForwardOutputs);
  RegisterPass(
      library,
      "_residual_backward(Tensor? dstream, Tensor? dnext, Tensor? x, Tensor g, Tensor? stream, "
      "Tensor?[] parameters, Tensor[] saved, float[] form, int wanted, ScalarType stream_type) -> "
      "Tensor[]",
      &ResidualBackward, &BackwardOutputs);
}

}  // namespace normlab::kernels
