#include "model/probes/branch_profile.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <numbers>

#include "model/geodesic.h"
#include "model/norm.h"
#include "model/probes/profile.h"

namespace normlab::model {
namespace {

// Row by row first: a sum of everything is shared out among the threads, and its last bits hang on
// how many there are.
at::Tensor Rms(const at::Tensor& x) { return x.to(at::kDouble).square().mean(-1).mean().sqrt(); }

at::Tensor RowNorms(const at::Tensor& x) { return x.square().sum(-1).sqrt(); }

at::Tensor MeasureSphere(const AngleSpec& angle, const SublayerParams& params, const at::Tensor& x,
                         const at::Tensor& v) {
  const auto wide = [](const at::Tensor& t) {
    return t.defined() ? t.to(at::kDouble) : at::Tensor();
  };
  const at::Tensor theta =
      RawAngle(angle, x, v, wide(params.angle_scale), wide(params.angle_bias)).abs();
  const at::Tensor branch_norm = RowNorms(v);
  const at::Tensor tangent = RowNorms(OrthogonalPart(x, v));
  const at::Tensor share =
      at::where(branch_norm > 0, tangent / branch_norm, at::zeros_like(tangent));
  const at::Tensor square = x.square().sum(-1);
  const at::Tensor along = at::where(square > 0, (x * v).sum(-1) / square, at::zeros_like(square));
  const auto beyond = [&](double limit) { return (theta > limit).to(at::kDouble).mean(); };
  return at::stack({theta.mean(), beyond(std::numbers::pi / 2), beyond(std::numbers::pi),
                    share.mean(), along.mean()});
}

}  // namespace

std::vector<ProfileRecord> BranchProfiles(const Tape& tape, int64_t step) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> rows;
  for (size_t s = 0; s < tape.sublayers.size(); ++s) {
    const at::Tensor out = Rms(tape.sublayers[s].out);
    rows.push_back(at::stack({Rms(tape.sublayers[s].raw), out, out / Rms(tape.hidden[s])}));
  }
  return MakeProfiles({"branch_rms", "branch_rms_out", "branch_share"}, rows, step, 1);
}

std::vector<ProfileRecord> SphereProfiles(const Transformer& model, const Tape& tape,
                                          int64_t step) {
  if (!model.spec().sphere_stream) return {};
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> rows;
  for (size_t s = 0; s < tape.sublayers.size(); ++s) {
    rows.push_back(MeasureSphere(
        model.spec().sublayers[s].angle, model.sublayer_params(static_cast<int64_t>(s)),
        tape.hidden[s].to(at::kDouble), tape.sublayers[s].out.to(at::kDouble)));
  }
  return MakeProfiles(
      {"theta_raw", "theta_over_half_pi", "theta_over_pi", "tangential", "tangential_c"}, rows,
      step, 1);
}

}  // namespace normlab::model
