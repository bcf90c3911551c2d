// How sharply each attention layer looks, over the sequences of a tape; early signs of a spike.
// With the logits z_ij = ⟨q_i, k_j⟩/√h of query i over the positions j ≤ i, by block i = 1 … L:
//   attention_max       the largest z_ij of all heads, queries and sequences
//   attention_entropy   mean over them of −Σ_j p_ij ln p_ij, nats; the first query's is 0
//   attention_log_z     mean over them of ln Σ_j exp z_ij
#ifndef NORMLAB_MODEL_PROBES_ATTENTION_PROFILE_H_
#define NORMLAB_MODEL_PROBES_ATTENTION_PROFILE_H_

#include <vector>

#include "core/record.h"
#include "model/transformer.h"

namespace normlab::model {

// Logits in the dtype of the stream (at least fp32), means in fp64. The scores of one sequence and
// layer are in memory at a time.
std::vector<ProfileRecord> AttentionProfiles(const Tape& tape, int64_t step);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_ATTENTION_PROFILE_H_
