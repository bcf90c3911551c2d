// The Peri-LN inequalities (Stability paper, section 4), per sequence of n tokens of width d. With
// G_s = max over the output norms up to sublayer s of max|γ| + max|β|:
//   MA(X_s)  ≤ ‖X₀‖_F/√(nd) + s·Δt·G_s
//   Var(X_s) ≤ (‖X₀‖_F + s·Δt·√(nd)·G_s)²/(nd − 1)
// They hold for every model of this form, so that a violation is a fault of the code.
#ifndef NORMLAB_MODEL_PROBES_PERI_BOUND_H_
#define NORMLAB_MODEL_PROBES_PERI_BOUND_H_

#include <vector>

#include "core/record.h"
#include "model/transformer.h"

namespace normlab::model {

struct PeriBound {
  // gain_max (G_s), peri_ma_bound, peri_var_bound (bounds by sequence, then their mean), and
  // peri_ma_tightness, peri_var_tightness (largest share of its bound that a sequence reaches).
  std::vector<ProfileRecord> profiles;
  // One per inequality and sublayer that some sequence breaks beyond rounding.
  std::vector<EventRecord> violations;
};

// Empty unless every sublayer adds b·N_out(f) to the stream with a constant b (peri, sandwich,
// res-post).
PeriBound CheckPeriBound(const Transformer& model, const Tape& tape, int64_t step);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_PERI_BOUND_H_
