// Size of the hidden state over depth. For X_s [B, T, d], s = 0 … 2L, per sequence, then the mean
// over sequences (Stability paper, section 3):
//   hidden_ma   mean |X_ij|                      hidden_var  Σ(X_ij − mean)²/(nd − 1)
//   hidden_rms  √(mean X_ij²)                    hidden_max  max |X_ij| (over all sequences)
//   var_data    variance over tokens and samples of each feature (n − 1), mean over features
#ifndef NORMLAB_MODEL_PROBES_HIDDEN_PROFILE_H_
#define NORMLAB_MODEL_PROBES_HIDDEN_PROFILE_H_

#include <vector>

#include "core/record.h"
#include "model/transformer.h"

namespace normlab::model {

// Profiles of a forward pass, computed in fp64; one transfer from the device for all of them.
std::vector<ProfileRecord> HiddenProfiles(const Tape& tape, int64_t step);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_HIDDEN_PROFILE_H_
