#include "model/norm_ops.h"

#include <ATen/ATen.h>

#include "kernels/torch/norm_ops.h"
#include "kernels/torch/residual_ops.h"
#include "model/geodesic.h"
#include "model/norm.h"

namespace normlab::model {
namespace {

bool UseKernels(const ModelSpec& spec, const at::Tensor& x) {
  return !spec.composed_norms && kernels::HasKernels(x);
}

kernels::NormSpec KernelNorm(const NormSpec& spec, const NormParams& params) {
  return {spec.kind == NormKind::kRmsNorm ? NORMLAB_RMSNORM : NORMLAB_LAYERNORM, params.gain,
          params.bias, spec.eps, spec.pb_relax};
}

kernels::GeoNormOptions KernelAngle(const AngleSpec& angle, const SphereParams& params) {
  kernels::GeoNormOptions options;
  options.retraction = angle.retraction == Retraction::kExp          ? NORMLAB_EXP
                       : angle.retraction == Retraction::kProjection ? NORMLAB_PROJECTION
                                                                     : NORMLAB_CAYLEY;
  options.alpha = angle.alpha;
  options.angle_clamp = angle.clamp;
  options.has_fixed_angle = angle.fixed;
  options.fixed_angle = angle.fixed_theta;
  options.scale_tensor = params.scale;
  options.bias_tensor = params.bias;
  options.zero_rows = params.zero_rows;
  return options;
}

}  // namespace

at::Tensor Normalise(const ModelSpec& spec, const NormParams& params, const at::Tensor& x) {
  if (UseKernels(spec, x)) return kernels::Norm(x.contiguous(), KernelNorm(spec.norm, params));
  return ComposedNorm(spec.norm, x, params.gain, params.bias);
}

Stream JoinBranch(const ModelSpec& spec, const JoinSpec& join, const at::Tensor& x,
                  const at::Tensor& u) {
  if (UseKernels(spec, x)) {
    kernels::ResidualSpec residual;
    residual.a = join.a;
    residual.b = join.b;
    residual.b_tensor = join.scale;
    if (join.branch != nullptr) residual.branch_norm = KernelNorm(spec.norm, *join.branch);
    if (join.post != nullptr) residual.post_norm = KernelNorm(spec.norm, *join.post);
    if (join.next != nullptr) residual.next_norm = KernelNorm(spec.norm, *join.next);
    const kernels::ResidualResult result =
        kernels::Residual(x.contiguous(), u.contiguous(), residual);
    return {result.stream, result.next};
  }
  at::Tensor branch = u;
  if (join.branch != nullptr) {
    branch = ComposedNorm(spec.norm, u.to(x.scalar_type()), join.branch->gain, join.branch->bias);
  }
  if (join.scale.defined()) branch = branch * join.scale;
  const at::Tensor sum = at::add(join.a == 1.0 ? x : x * join.a, branch, join.b);
  if (join.post == nullptr) return {sum, {}};
  return {ComposedNorm(spec.norm, sum, join.post->gain, join.post->bias), {}};
}

at::Tensor SphereStep(const ModelSpec& spec, const AngleSpec& angle, const SphereParams& params,
                      const at::Tensor& x, const at::Tensor& v) {
  if (UseKernels(spec, x)) {
    return kernels::GeoNorm(x.contiguous(), v.contiguous(), KernelAngle(angle, params));
  }
  if (params.zero_rows.defined()) {
    params.zero_rows.add_((x.detach().square().sum(-1) == 0).sum());
  }
  return ComposedGeodesic(angle, x, v, params.scale, params.bias);
}

}  // namespace normlab::model
