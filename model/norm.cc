#include "model/norm.h"

#include <ATen/ATen.h>

#include <cmath>

namespace normlab::model {
namespace {

at::Tensor PbRelax(const at::Tensor& x) {
  const at::Tensor largest = x.detach().abs().amax(-1, /*keepdim=*/true);
  return x / at::where(largest > 0, largest / 8.0, at::ones_like(largest));
}

}  // namespace

at::Tensor ComposedNorm(const NormSpec& spec, const at::Tensor& x, const at::Tensor& gain,
                        const at::Tensor& bias) {
  const at::Tensor input = spec.pb_relax ? PbRelax(x) : x;
  const int64_t width = x.size(-1);
  if (spec.kind == NormKind::kLayerNorm) {
    return std::get<0>(at::native_layer_norm(input, {width}, gain, bias, spec.eps));
  }
  const at::Tensor scale = (input.square().mean(-1, true) + spec.eps).rsqrt();
  const at::Tensor y = input * scale;
  return gain.defined() ? y * gain : y;
}

at::Tensor OntoSphere(const at::Tensor& x) {
  const at::Tensor square = x.square().sum(-1, true);
  const at::Tensor one = at::ones_like(square);
  const at::Tensor norm = at::where(square > 0, square, one).sqrt();
  const double radius = std::sqrt(static_cast<double>(x.size(-1)));
  return x * at::where(square > 0, radius / norm, one);
}

at::Tensor OrthogonalPart(const at::Tensor& x, const at::Tensor& u) {
  const at::Tensor square = x.square().sum(-1, true);
  const at::Tensor safe = at::where(square > 0, square, at::ones_like(square));
  return u - (x * u).sum(-1, true) / safe * x;
}

}  // namespace normlab::model
