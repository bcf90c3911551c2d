// GeoNorm's passes on tensors, and without them: shapes and types alone for the key Meta.
#include <torch/library.h>

#include <ATen/ops/empty.h>

#include "kernels/torch/device_calls.h"
#include "kernels/torch/passes.h"
#include "kernels/torch/register_pass.h"
#include "kernels/torch/tensor_access.h"

namespace normlab::kernels {
namespace {

normlab_geonorm_options OptionsOf(at::ArrayRef<double> numbers) {
  TORCH_CHECK(numbers.size() == 7, "geonorm: 7 numbers are expected, not ", numbers.size());
  return {static_cast<normlab_retraction>(static_cast<int>(numbers[0])),
          numbers[1],
          numbers[2],
          numbers[3],
          numbers[4],
          numbers[5] != 0 ? 1 : 0,
          numbers[6]};
}

LearnedAngle LearnedOf(const OptionalTensor& scale, const OptionalTensor& bias) {
  return {OrUndefined(scale), OrUndefined(bias)};
}

Tensors ForwardOutputs(const at::Tensor& x, const at::Tensor& v, const OptionalTensor& scale,
                       const OptionalTensor& bias, at::ArrayRef<double>) {
  CheckSameSizes("x", x, "v", v);
  CheckLayout("x", x);
  CheckLayout("v", v);
  CheckNumber("scale", OrUndefined(scale), x);
  CheckNumber("bias", OrUndefined(bias), x);
  return {EmptyResult(x), EmptyRowNumbers(x, NORMLAB_GEONORM_SAVED)};
}

Tensors BackwardOutputs(const at::Tensor& g, const at::Tensor& x, const at::Tensor& v,
                        const at::Tensor&, const OptionalTensor& scale, const OptionalTensor& bias,
                        at::ArrayRef<double>) {
  CheckSameSizes("g", g, "x", x);
  CheckLayout("g", g);
  Tensors outputs = {EmptyResult(x), EmptyResult(v)};
  for (const OptionalTensor* number : {&scale, &bias}) {
    if (number->has_value()) outputs.push_back(EmptyGradient(**number));
  }
  return outputs;
}

}  // namespace

std::vector<double> Packed(const normlab_geonorm_options& options) {
  return {static_cast<double>(options.retraction),
          options.alpha,
          options.scale,
          options.bias,
          options.angle_clamp,
          static_cast<double>(options.has_fixed_angle),
          options.fixed_angle};
}

Tensors ObservedGeoNormForward(const at::Tensor& x, const at::Tensor& v,
                               const OptionalTensor& scale, const OptionalTensor& bias,
                               at::ArrayRef<double> options, const at::Tensor& zero_rows,
                               const at::Tensor& probes) {
  Tensors outputs = ForwardOutputs(x, v, scale, bias, options);
  CheckProbes(probes, x);
  const normlab_geonorm_forward_args args{AsMatrix("x", x),          AsMatrix("v", v),
                                          AsMatrix("y", outputs[0]), outputs[1].data_ptr(),
                                          DataOrNull(probes),        nullptr};
  CallGeoNormForward(x, OptionsOf(options), LearnedOf(scale, bias), args, zero_rows);
  return outputs;
}

Tensors GeoNormForward(const at::Tensor& x, const at::Tensor& v, const OptionalTensor& scale,
                       const OptionalTensor& bias, at::ArrayRef<double> options) {
  return ObservedGeoNormForward(x, v, scale, bias, options, {}, {});
}

Tensors GeoNormBackward(const at::Tensor& g, const at::Tensor& x, const at::Tensor& v,
                        const at::Tensor& saved, const OptionalTensor& scale,
                        const OptionalTensor& bias, at::ArrayRef<double> options) {
  Tensors outputs = BackwardOutputs(g, x, v, saved, scale, bias, options);
  at::Tensor dangle;
  if (outputs.size() > 2) dangle = at::empty({3}, x.options().dtype(at::kDouble));
  const normlab_geonorm_backward_args args{AsMatrix("g", g),
                                           AsMatrix("x", x),
                                           AsMatrix("v", v),
                                           saved.data_ptr(),
                                           AsMatrix("dx", outputs[0]),
                                           AsMatrix("dv", outputs[1]),
                                           static_cast<double*>(DataOrNull(dangle))};
  CallGeoNormBackward(x, OptionsOf(options), LearnedOf(scale, bias), args);
  std::size_t next = 2;
  if (scale.has_value()) outputs[next++].fill_(dangle.select(0, 1));
  if (bias.has_value()) outputs[next].fill_(dangle.select(0, 2));
  return outputs;
}

TORCH_LIBRARY_FRAGMENT(normlab, library) {
  RegisterPass(
      library,
      "_geonorm_forward(Tensor x, Tensor v, Tensor? scale, Tensor? bias, float[] options) -> "
      "Tensor[]",
      &GeoNormForward, &ForwardOutputs);
  RegisterPass(
      library,
      "_geonorm_backward(Tensor g, Tensor x, Tensor v, Tensor saved, Tensor? scale, Tensor? bias, "
      "float[] options) -> Tensor[]",
      &GeoNormBackward, &BackwardOutputs);
}

}  // namespace normlab::kernels
