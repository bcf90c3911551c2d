// torch.ops.load_library("libnormlab_torch.so") gives torch.ops.normlab.*, with autograd.
#include <torch/library.h>

#include <optional>
#include <string>
#include <type_traits>

#include "kernels/torch/norm_ops.h"
#include "kernels/torch/residual_ops.h"
#include "kernels/torch/tensor_access.h"

namespace normlab::kernels {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

normlab_retraction RetractionOf(std::string_view name) {
  if (name == "exp") return NORMLAB_EXP;
  if (name == "projection") return NORMLAB_PROJECTION;
  TORCH_CHECK(name == "cayley", "retraction must be exp, projection or cayley, not '", name, "'");
  return NORMLAB_CAYLEY;
}

// A number of the angle's rule as Python gives it: fixed, or a tensor of one element that may want
// a gradient.
struct Number {
  double fixed;
  at::Tensor learned;  // or undefined
};

// alpha times the number; undefined where that is 0 for good.
at::Tensor Times(const at::Tensor& alpha, const Number& number) {
  if (number.learned.defined()) return alpha.mul(number.learned);
  return number.fixed == 0 ? at::Tensor() : alpha.mul(number.fixed);
}

at::Tensor GeoNormOf(const at::Tensor& x, const at::Tensor& v, const Number& alpha,
                     const Number& scale, const Number& bias, std::optional<double> angle_clamp,
                     std::optional<double> fixed_angle, std::string_view retraction) {
  CheckNumber("alpha", alpha.learned, x);
  CheckNumber("scale", scale.learned, x);
  CheckNumber("bias", bias.learned, x);
  GeoNormOptions options;
  options.alpha = alpha.fixed;
  options.scale = scale.fixed;
  options.bias = bias.fixed;
  options.scale_tensor = scale.learned;
  options.bias_tensor = bias.learned;
  if (alpha.learned.defined()) {
    // (scale·r + bias)·alpha = (alpha·scale)·r + alpha·bias: the kernels take two learned numbers.
    options.alpha = 1;
    options.scale_tensor = Times(alpha.learned, scale);
    options.bias_tensor = Times(alpha.learned, bias);
  }
  options.angle_clamp = angle_clamp.value_or(0.0);
  options.has_fixed_angle = fixed_angle.has_value();
  options.fixed_angle = fixed_angle.value_or(0.0);
  options.retraction = RetractionOf(retraction);
  return GeoNorm(x, v, options);
}

// An argument of an overload: a number, or a tensor or nothing.
template <bool kLearned>
using Argument = std::conditional_t<kLearned, const OptionalTensor&, double>;
Number NumberOf(double value, double) { return {value, {}}; }
Number NumberOf(const OptionalTensor& value, double otherwise) {
  return {otherwise, OrUndefined(value)};
}

template <bool kAlpha, bool kScale, bool kBias>
at::Tensor PythonGeoNorm(const at::Tensor& x, const at::Tensor& v, Argument<kAlpha> alpha,
                         Argument<kScale> scale, Argument<kBias> bias,
                         std::optional<double> angle_clamp, std::optional<double> fixed_angle,
                         std::string_view retraction) {
  return GeoNormOf(x, v, NumberOf(alpha, 1), NumberOf(scale, 1), NumberOf(bias, 0), angle_clamp,
                   fixed_angle, retraction);
}

// "Tensor? name=None" or "float name=1.0".
std::string Declared(bool learned, const std::string& name, const char* otherwise) {
  return (learned ? "Tensor? " + name + "=None" : "float " + name + "=" + otherwise) + ", ";
}

// Python takes the first overload that its arguments fit, and would make a number of a tensor where
// that fits: of each argument in turn, the overloads with a tensor are defined first.
template <bool kAlpha, bool kScale, bool kBias>
void DefineGeoNorm(torch::Library& library) {
  std::string name = kAlpha ? "_alpha" : "";
  name += kScale ? "_scale" : "";
  name += kBias ? "_bias" : "";
  if (!name.empty()) name = ".learned" + name;
  const std::string schema =
      "geonorm" + name + "(Tensor x, Tensor v, " + Declared(kAlpha, "alpha", "1.0") + "*, " +
      Declared(kScale, "scale", "1.0") + Declared(kBias, "bias", "0.0") +
      "float? angle_clamp=None, float? fixed_angle=None, str retraction='exp') -> Tensor";
  library.def(schema.c_str(), &PythonGeoNorm<kAlpha, kScale, kBias>);
}

at::Tensor PythonLayerNorm(const at::Tensor& x, const OptionalTensor& gain,
                           const OptionalTensor& bias, double eps) {
  return LayerNorm(x, OrUndefined(gain), OrUndefined(bias), eps);
}

at::Tensor PythonRmsNorm(const at::Tensor& x, const OptionalTensor& gain, double eps,
                         const OptionalTensor& bias) {
  return Norm(x, {NORMLAB_RMSNORM, OrUndefined(gain), OrUndefined(bias), eps, false});
}

std::optional<NormSpec> SpecOf(const char* name, std::string_view kind, const OptionalTensor& gain,
                               const OptionalTensor& bias, double eps) {
  if (kind == "none") {
    TORCH_CHECK(!gain.has_value() && !bias.has_value(), "there is a ", name, "_gain or a ", name,
                "_bias, but ", name, "_norm is none");
    return std::nullopt;
  }
  TORCH_CHECK(kind == "layernorm" || kind == "rmsnorm", name,
              "_norm must be none, layernorm or rmsnorm, not '", kind, "'");
  return NormSpec{kind == "layernorm" ? NORMLAB_LAYERNORM : NORMLAB_RMSNORM, OrUndefined(gain),
                  OrUndefined(bias), eps, false};
}

template <bool kLearned>
std::tuple<at::Tensor, at::Tensor> PythonResidual(
    const at::Tensor& x, const at::Tensor& g, double a, Argument<kLearned> b,
    std::string_view branch_norm, const OptionalTensor& branch_gain,
    const OptionalTensor& branch_bias, std::string_view post_norm, const OptionalTensor& post_gain,
    const OptionalTensor& post_bias, std::string_view next_norm, const OptionalTensor& next_gain,
    const OptionalTensor& next_bias, double eps) {
  ResidualSpec spec;
  const Number factor = NumberOf(b, 1);
  spec.a = a;
  spec.b = factor.fixed;
  spec.b_tensor = factor.learned;
  spec.branch_norm = SpecOf("branch", branch_norm, branch_gain, branch_bias, eps);
  spec.post_norm = SpecOf("post", post_norm, post_gain, post_bias, eps);
  spec.next_norm = SpecOf("next", next_norm, next_gain, next_bias, eps);
  const ResidualResult result = Residual(x, g, spec);
  return {result.stream, result.next};
}

template <bool kLearned>
void DefineResidual(torch::Library& library) {
  std::string norms;
  for (const char* stage : {"branch", "post", "next"}) {
    norms.append("str ").append(stage).append("_norm='none', Tensor? ");
    norms.append(stage).append("_gain=None, Tensor? ").append(stage).append("_bias=None, ");
  }
  const std::string schema = std::string("residual") + (kLearned ? ".learned_b" : "") +
                             "(Tensor x, Tensor g, float a=1.0, " + Declared(kLearned, "b", "1.0") +
                             "*, " + norms + "float eps=1e-5) -> (Tensor stream, Tensor next)";
  library.def(schema.c_str(), &PythonResidual<kLearned>);
}

}  // namespace
}  // namespace normlab::kernels

// They are composed of autograd nodes whose passes go through the dispatcher (passes.h), so one
// implementation serves every dispatch key.
TORCH_LIBRARY(normlab, library) {
  using namespace normlab::kernels;
  DefineGeoNorm<true, true, true>(library);
  DefineGeoNorm<true, true, false>(library);
  DefineGeoNorm<true, false, true>(library);
  DefineGeoNorm<true, false, false>(library);
  DefineGeoNorm<false, true, true>(library);
  DefineGeoNorm<false, true, false>(library);
  DefineGeoNorm<false, false, true>(library);
  DefineGeoNorm<false, false, false>(library);
  library.def("layernorm(Tensor x, Tensor? gain=None, Tensor? bias=None, float eps=1e-5) -> Tensor",
              &PythonLayerNorm);
  library.def(
      "rmsnorm(Tensor x, Tensor? gain=None, float eps=1e-5, *, Tensor? bias=None) -> Tensor",
      &PythonRmsNorm);
  DefineResidual<true>(library);
  DefineResidual<false>(library);
}
