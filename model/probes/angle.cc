#include "model/probes/angle.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "model/probes/profile.h"

namespace normlab::model {

at::Tensor RowAngles(const at::Tensor& x, const at::Tensor& y) {
  const auto unit = [](const at::Tensor& rows) {
    const at::Tensor wide = rows.to(at::kDouble).reshape({-1, rows.size(-1)});
    const at::Tensor norm = wide.square().sum(-1, true).sqrt();
    return wide / at::where(norm == 0, at::ones_like(norm), norm);
  };
  const at::Tensor a = unit(x);
  const at::Tensor b = unit(y);
  // Kahan's formula: arccos(⟨a,b⟩) would lose half of the digits of a small angle.
  const at::Tensor apart = (a - b).square_().sum(-1).sqrt();
  const at::Tensor together = (a + b).square_().sum(-1).sqrt();
  return 2.0 * at::atan2(apart, together);
}

std::vector<ProfileRecord> AngleProfiles(const Tape& tape, int64_t step) {
  const at::NoGradGuard no_grad;
  const auto measure = [&tape](int64_t s, const RowBlock& rows) {
    return RowAngles(rows.Of(tape.hidden[s]), rows.Of(tape.hidden[s + 1]));
  };
  const int64_t sublayers = static_cast<int64_t>(tape.hidden.size()) - 1;
  std::vector<at::Tensor> rows;
  for (const at::Tensor& angles : MeasureRows(sublayers, tape.hidden[0], measure)) {
    rows.push_back(at::stack({angles.mean(), angles.quantile(0.95), angles.max()}));
  }
  return MakeProfiles({"angle", "angle_p95", "angle_max"}, rows, step, 1);
}

}  // namespace normlab::model
