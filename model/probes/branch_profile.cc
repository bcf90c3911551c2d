#include "model/probes/branch_profile.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <numbers>

#include "model/geodesic.h"
#include "model/norm.h"
#include "model/probes/profile.h"

namespace normlab::model {
namespace {

// Means over all rows of what was measured row by row, [keys]. A sum of everything at once would be
// shared out among the threads, and its last bits hang on how many there are.
at::Tensor Means(const at::Tensor& by_row) { return by_row.mean(-1); }

at::Tensor RowNorms(const at::Tensor& x) { return x.square().sum(-1).sqrt(); }

// [5, rows] in the order of the keys.
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
  const auto beyond = [&](double limit) { return (theta > limit).to(at::kDouble); };
  return at::stack({theta, beyond(std::numbers::pi / 2), beyond(std::numbers::pi), share, along});
}

}  // namespace

std::vector<ProfileRecord> BranchProfiles(const Tape& tape, int64_t step) {
  const at::NoGradGuard no_grad;
  const auto measure = [&tape](int64_t s, const RowBlock& rows) {
    const auto mean_square = [&](const at::Tensor& x) { return rows.Of(x).square().mean(-1); };
    const SublayerTape& sublayer = tape.sublayers[s];
    return at::stack(
        {mean_square(sublayer.raw), mean_square(sublayer.out), mean_square(tape.hidden[s])});
  };
  const int64_t sublayers = static_cast<int64_t>(tape.sublayers.size());
  std::vector<at::Tensor> rows;
  for (const at::Tensor& squares : MeasureRows(sublayers, tape.hidden[0], measure)) {
    const at::Tensor rms = Means(squares).sqrt();
    rows.push_back(at::stack({rms[0], rms[1], rms[1] / rms[2]}));
  }
  return MakeProfiles({"branch_rms", "branch_rms_out", "branch_share"}, rows, step, 1);
}

std::vector<ProfileRecord> SphereProfiles(const Transformer& model, const Tape& tape,
                                          int64_t step) {
  if (!model.spec().sphere_stream) return {};
  const at::NoGradGuard no_grad;
  const auto measure = [&](int64_t s, const RowBlock& rows) {
    return MeasureSphere(model.spec().sublayers[s].angle, model.sublayer_params(s),
                         rows.Of(tape.hidden[s]), rows.Of(tape.sublayers[s].out));
  };
  const int64_t sublayers = static_cast<int64_t>(tape.sublayers.size());
  std::vector<at::Tensor> rows;
  for (const at::Tensor& by_row : MeasureRows(sublayers, tape.hidden[0], measure)) {
    rows.push_back(Means(by_row));
  }
  return MakeProfiles(
      {"theta_raw", "theta_over_half_pi", "theta_over_pi", "tangential", "tangential_c"}, rows,
      step, 1);
}

}  // namespace normlab::model
