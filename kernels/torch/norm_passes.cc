// The passes of LayerNorm and RMSNorm on tensors, and without them: shapes and types alone for the
// key Meta.
#include <torch/library.h>

#include "kernels/torch/device_calls.h"
#include "kernels/torch/passes.h"
#include "kernels/torch/register_pass.h"
#include "kernels/torch/tensor_access.h"

namespace normlab::kernels {
namespace {

normlab_norm_options OptionsOf(at::ArrayRef<double> numbers) {
  TORCH_CHECK(numbers.size() == 3, "norm: 3 numbers are expected, not ", numbers.size());
  return {static_cast<normlab_norm_kind>(static_cast<int>(numbers[0])), numbers[1],
          numbers[2] != 0 ? 1 : 0};
}

Tensors ForwardOutputs(const at::Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
                       at::ArrayRef<double>, bool to_bf16) {
  CheckLayout("x", x);
  CheckParameter("gain", OrUndefined(gain), x);
  CheckParameter("bias", OrUndefined(bias), x);
  const at::ScalarType type = to_bf16 ? at::kBFloat16 : x.scalar_type();
  return {EmptyResult(x, type), EmptyRowNumbers(x, NORMLAB_NORM_SAVED)};
}

Tensors BackwardOutputs(const at::Tensor& g, const at::Tensor& x, const at::Tensor&,
                        const OptionalTensor& gain, const OptionalTensor& bias,
                        at::ArrayRef<double>, bool want_gain, bool want_bias) {
  CheckSameSizes("g", g, "x", x);
  CheckLayout("g", g);
  Tensors outputs = {EmptyResult(x)};
  if (want_gain) outputs.push_back(EmptyGradient(gain.value()));
  if (want_bias) outputs.push_back(EmptyGradient(bias.value()));
  return outputs;
}

}  // namespace

std::vector<double> Packed(const normlab_norm_options& options) {
  return {static_cast<double>(options.kind), options.eps, static_cast<double>(options.pb_relax)};
}

Tensors NormForward(const at::Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
                    at::ArrayRef<double> options, bool to_bf16) {
  Tensors outputs = ForwardOutputs(x, gain, bias, options, to_bf16);
  const at::Tensor real_gain = AsParameter("gain", OrUndefined(gain), x);
  const at::Tensor real_bias = AsParameter("bias", OrUndefined(bias), x);
  CallNormForward(x, OptionsOf(options),
                  {AsMatrix("x", x), DataOrNull(real_gain), DataOrNull(real_bias),
                   AsMatrix("y", outputs[0]), outputs[1].data_ptr()});
  return outputs;
}

Tensors NormBackward(const at::Tensor& g, const at::Tensor& x, const at::Tensor& saved,
                     const OptionalTensor& gain, const OptionalTensor& bias,
                     at::ArrayRef<double> options, bool want_gain, bool want_bias) {
  Tensors outputs = BackwardOutputs(g, x, saved, gain, bias, options, want_gain, want_bias);
  const at::Tensor real_gain = AsParameter("gain", OrUndefined(gain), x);
  const at::Tensor dgain = want_gain ? RealGradient(outputs[1], x) : at::Tensor();
  const at::Tensor dbias = want_bias ? RealGradient(outputs.back(), x) : at::Tensor();
  CallNormBackward(x, OptionsOf(options),
                   {AsMatrix("g", g), AsMatrix("x", x), DataOrNull(real_gain), saved.data_ptr(),
                    AsMatrix("dx", outputs[0]), DataOrNull(dgain), DataOrNull(dbias), nullptr});
  if (want_gain) TakeGradient(dgain, outputs[1]);
  if (want_bias) TakeGradient(dbias, outputs.back());
  return outputs;
}

TORCH_LIBRARY_FRAGMENT(normlab, library) {
  RegisterPass(
      library,
      "_norm_forward(Tensor x, Tensor? gain, Tensor? bias, float[] options, bool to_bf16) -> "
      "Tensor[]",
      &NormForward, &ForwardOutputs);
  RegisterPass(library,
               "_norm_backward(Tensor g, Tensor x, Tensor saved, Tensor? gain, Tensor? bias, "
               "float[] options, bool want_gain, bool want_bias) -> Tensor[]",
               &NormBackward, &BackwardOutputs);
}

}  // namespace normlab::kernels
