#include "model/norm_ops.h"

#include <ATen/ATen.h>

#include "model/geodesic.h"
#include "model/norm.h"

namespace normlab::model {

at::Tensor Normalise(const ModelSpec& spec, const NormParams& params, const at::Tensor& x) {
  return ComposedNorm(spec.norm, x, params.gain, params.bias);
}

at::Tensor AddBranch(const ModelSpec&, const at::Tensor& x, const at::Tensor& u, double a,
                     double b) {
  return a == 1.0 ? at::add(x, u, b) : at::add(x * a, u, b);
}

at::Tensor SphereStep(const ModelSpec&, const AngleSpec& angle, const at::Tensor& x,
                      const at::Tensor& v, const at::Tensor& scale, const at::Tensor& bias) {
  return ComposedGeodesic(angle, x, v, scale, bias);
}

}  // namespace normlab::model
