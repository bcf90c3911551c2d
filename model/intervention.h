// The intervention that tells Pre-LN from Peri-LN (Stability paper, propositions 7 and 8): one
// sublayer, its input held fixed, its output projection (weight and bias) scaled by c. σ_max of the
// branch's Jacobian then grows as c where nothing follows the projection, and stands still where an
// output norm does, up to that norm's eps.
#ifndef NORMLAB_MODEL_INTERVENTION_H_
#define NORMLAB_MODEL_INTERVENTION_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

#include "model/transformer.h"

namespace normlab::model {

inline constexpr std::array<double, 4> kInterventionFactors = {0.25, 1, 4, 16};
// Nobody waits for this one at every evaluation.
inline constexpr int64_t kInterventionIterations = 32;

struct Intervention {
  int64_t sublayer = 1;  // from 1
  Branch branch = Branch::kAttention;
  std::array<double, kInterventionFactors.size()> sigma_max{};  // mean over sequences, by factor
  double slope = 0;  // least squares of ln σ_max on ln c
};

// One for every sublayer, at the hidden states that the unchanged model has for these tokens [B, T]
// at training step `step`. Of the branch N_out(f(N_in(x))), as in probes/sensitivity.h.
std::vector<Intervention> ScaleOutputProjections(const ModelSpec& spec,
                                                 const Parameters& parameters,
                                                 const at::Tensor& tokens, int64_t step);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_INTERVENTION_H_
