#include "model/probes/hidden_profile.h"

#include <ATen/ATen.h>

#include "model/probes/profile.h"

namespace normlab::model {
namespace {

// [hidden_ma, hidden_var, hidden_rms, hidden_max, var_data] of one X [B, T, d].
at::Tensor MeasureHidden(const at::Tensor& hidden) {
  const at::Tensor x = hidden.to(at::kDouble);
  const at::Tensor sequences = x.flatten(1);  // [B, T·d]
  const at::Tensor magnitude = sequences.abs();
  const at::Tensor tokens = x.flatten(0, 1);  // [B·T, d]
  return at::stack({magnitude.mean(1).mean(), sequences.var(1, /*unbiased=*/true).mean(),
                    sequences.square().mean(1).sqrt().mean(), magnitude.max(),
                    tokens.var(0, /*unbiased=*/true).mean()});
}

}  // namespace

std::vector<ProfileRecord> HiddenProfiles(const Tape& tape, int64_t step) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> rows;
  for (const at::Tensor& hidden : tape.hidden) rows.push_back(MeasureHidden(hidden));
  return MakeProfiles({"hidden_ma", "hidden_var", "hidden_rms", "hidden_max", "var_data"}, rows,
                      step, 0);
}

}  // namespace normlab::model
