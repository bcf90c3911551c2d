// What each sublayer's branch brings, over all tokens of the batch; entry s − 1 is sublayer s:
//   branch_rms        RMS of f(N_in(x)), before the output norm
//   branch_rms_out    RMS of the branch that joins the stream (after N_out; without a, b)
//   branch_share      branch_rms_out over the RMS of the stream that it joins
// and for sphere placements (GeoNorm paper, section 3), by token:
//   theta_raw         mean of α_k‖u‖/R before clamp and retraction; the angle hides wrapping
//   theta_over_half_pi, theta_over_pi   share of tokens whose raw angle is beyond π/2, π
//   tangential        mean of ‖u‖/‖v‖, the tangent share of the branch v
//   tangential_c      mean of ⟨x,v⟩/R²
#ifndef NORMLAB_MODEL_PROBES_BRANCH_PROFILE_H_
#define NORMLAB_MODEL_PROBES_BRANCH_PROFILE_H_

#include <vector>

#include "core/record.h"
#include "model/transformer.h"

namespace normlab::model {

std::vector<ProfileRecord> BranchProfiles(const Tape& tape, int64_t step);

// Empty for placements without a sphere.
std::vector<ProfileRecord> SphereProfiles(const Transformer& model, const Tape& tape, int64_t step);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_BRANCH_PROFILE_H_
