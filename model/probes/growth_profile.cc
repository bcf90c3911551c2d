#include "model/probes/growth_profile.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "model/probes/profile.h"

namespace normlab::model {

std::vector<ProfileRecord> GrowthProfiles(const Tape& tape, int64_t step) {
  const at::NoGradGuard no_grad;
  // ln MA by sequence, [B] in fp64.
  const auto log_magnitude = [&tape](size_t s) {
    return tape.hidden[s].flatten(1).abs().mean(1, /*keepdim=*/false, at::kDouble).log();
  };
  std::vector<at::Tensor> rows;
  for (size_t end = 4; end < tape.hidden.size(); end += 2) {
    rows.push_back((log_magnitude(end) - log_magnitude(end - 2)).mean().unsqueeze(0));
  }
  return MakeProfiles({"log_growth"}, rows, step, 2);
}

}  // namespace normlab::model
