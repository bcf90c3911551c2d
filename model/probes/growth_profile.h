// How the stream grows from block to block, against Pre-LN's bound MA(X_D) ≤ (1 + C)^D·MA₀ with an
// unknown C (Stability paper, section 4). With X_2i the stream after block i, per sequence, then
// the mean over sequences:
//   log_growth   ln(MA(X_2i) / MA(X_2i−2)) for i = 2 … L; the first block, which starts from the
//                small embedding, would hide all the others
#ifndef NORMLAB_MODEL_PROBES_GROWTH_PROFILE_H_
#define NORMLAB_MODEL_PROBES_GROWTH_PROFILE_H_

#include <vector>

#include "core/record.h"
#include "model/transformer.h"

namespace normlab::model {

// Empty for a model of one block.
std::vector<ProfileRecord> GrowthProfiles(const Tape& tape, int64_t step);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_GROWTH_PROFILE_H_
