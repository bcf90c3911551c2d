// torch.ops.load_library("libnormlab_torch.so") gives torch.ops.normlab.*, with autograd.
#include <torch/library.h>

#include <optional>
#include <string>

#include "kernels/torch/norm_ops.h"
#include "kernels/torch/residual_ops.h"

namespace normlab::kernels {
namespace {

normlab_retraction RetractionOf(const std::string& name) {
  if (name == "exp") return NORMLAB_EXP;
  if (name == "projection") return NORMLAB_PROJECTION;
  TORCH_CHECK(name == "cayley", "retraction must be exp, projection or cayley, not '", name, "'");
  return NORMLAB_CAYLEY;
}

at::Tensor PythonGeoNorm(const at::Tensor& x, const at::Tensor& v, double alpha, double scale,
                         double bias, std::optional<double> angle_clamp,
                         const std::string& retraction) {
  GeoNormOptions options;
  options.alpha = alpha;
  options.scale = scale;
  options.bias = bias;
  options.angle_clamp = angle_clamp.value_or(0.0);
  options.retraction = RetractionOf(retraction);
  return GeoNorm(x, v, options);
}

at::Tensor PythonLayerNorm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                           const std::optional<at::Tensor>& bias, double eps) {
  return LayerNorm(x, gain.value_or(at::Tensor()), bias.value_or(at::Tensor()), eps);
}

at::Tensor PythonRmsNorm(const at::Tensor& x, const std::optional<at::Tensor>& gain, double eps) {
  return RmsNorm(x, gain.value_or(at::Tensor()), eps);
}

std::optional<NormSpec> SpecOf(const std::string& kind, const std::optional<at::Tensor>& gain,
                               double eps) {
  if (kind == "none") return std::nullopt;
  TORCH_CHECK(kind == "layernorm" || kind == "rmsnorm",
              "a norm must be none, layernorm or rmsnorm, not '", kind, "'");
  return NormSpec{kind == "layernorm" ? NORMLAB_LAYERNORM : NORMLAB_RMSNORM,
                  gain.value_or(at::Tensor()),
                  {},
                  eps,
                  false};
}

std::tuple<at::Tensor, at::Tensor> PythonResidual(
    const at::Tensor& x, const at::Tensor& g, double a, double b, const std::string& branch_norm,
    const std::optional<at::Tensor>& branch_gain, const std::string& post_norm,
    const std::optional<at::Tensor>& post_gain, const std::string& next_norm,
    const std::optional<at::Tensor>& next_gain, double eps) {
  ResidualSpec spec;
  spec.a = a;
  spec.b = b;
  spec.branch_norm = SpecOf(branch_norm, branch_gain, eps);
  spec.post_norm = SpecOf(post_norm, post_gain, eps);
  spec.next_norm = SpecOf(next_norm, next_gain, eps);
  const ResidualResult result = Residual(x, g, spec);
  return {result.stream, result.next.defined() ? result.next : result.stream};
}

}  // namespace
}  // namespace normlab::kernels

// The operations carry their own autograd nodes, so one implementation serves every dispatch key.
TORCH_LIBRARY(normlab, library) {
  using namespace normlab::kernels;
  library.def(
      "geonorm(Tensor x, Tensor v, float alpha=1.0, *, float scale=1.0, float bias=0.0, "
      "float? angle_clamp=None, str retraction='exp') -> Tensor",
      &PythonGeoNorm);
  library.def("layernorm(Tensor x, Tensor? gain=None, Tensor? bias=None, float eps=1e-5) -> Tensor",
              &PythonLayerNorm);
  library.def("rmsnorm(Tensor x, Tensor? gain=None, float eps=1e-5) -> Tensor", &PythonRmsNorm);
  library.def(
      "residual(Tensor x, Tensor g, float a=1.0, float b=1.0, *, str branch_norm='none', "
      "Tensor? branch_gain=None, str post_norm='none', Tensor? post_gain=None, "
      "str next_norm='none', Tensor? next_gain=None, float eps=1e-5) -> (Tensor, Tensor)",
      &PythonResidual);
}
