// How much memory a run will need, reckoned from its sizes before anything is allocated, so that a
// run that cannot fit is refused with the numbers instead of being killed an hour later.
#ifndef NORMLAB_MODEL_MEMORY_ESTIMATE_H_
#define NORMLAB_MODEL_MEMORY_ESTIMATE_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "model/model_spec.h"

namespace normlab {
class RunConfig;
}

namespace normlab::model {

// What is looked at beside the evaluations, by what it keeps in memory.
enum class Probed { kNothing, kProfiles, kSensitivity };
Probed ProbedBy(const RunConfig& config);

// What of a step is alive at one time.
struct StepMemory {
  int64_t sequences = 1;  // in the forward and backward pass
  int64_t shards = 1;     // each with gradients of its own (shards.h)
  Probed probed = Probed::kNothing;
};

// Bytes at the two moments when most is alive: in a training step, when the loss has been computed
// and its gradient has begun to flow, so that every activation is still kept; and in a probe.
struct MemoryEstimate {
  int64_t weights = 0;      // values, gradients of all shards, two moments, bf16 copies
  int64_t activations = 0;  // what the sequences keep for their backward pass
  int64_t logits = 0;       // logits, their softmax and its gradient
  int64_t probes = 0;       // hidden states of the sequences looked at, one layer's attention
  int64_t Total() const { return weights + std::max(activations + logits, probes); }
};

MemoryEstimate EstimateMemory(const ModelSpec& spec, const StepMemory& step);

// ResourceExhausted, with the parts, when the estimate is beyond `limit` bytes: it names the
// largest train.micro_batch that would fit, if one does, or the probes as the cause.
absl::Status CheckMemory(const ModelSpec& spec, const StepMemory& step, int64_t limit);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_MEMORY_ESTIMATE_H_
