// A micro-batch in shards, on the CPU: the products of a small model are too small to be shared out
// among threads, but whole sequences are not. Each shard of sequences goes forward and backward on
// its own, one thread a shard, into gradients of its own, which are added in the shards' order. An
// evaluation goes forward in the same shards.
//
// How many shards there are depends on the run alone; threads decide only how many of them go side
// by side. So the numbers of a run do not depend on the threads.
#ifndef NORMLAB_MODEL_SHARDS_H_
#define NORMLAB_MODEL_SHARDS_H_

#include <cstdint>
#include <vector>

#include "model/parameters.h"
#include "model/probes/step_probe.h"
#include "model/token_source.h"
#include "model/transformer.h"

namespace normlab::model {

struct ShardPlan {
  int64_t shards = 1;
  int64_t side_by_side = 1;  // so many, one thread each; 1: one after the other on all threads

  // The sequences of a micro-batch of `sequences` whose activations are alive at one time.
  int64_t SequencesAtOnce(int64_t sequences) const;
};

// For a micro-batch of `sequences`, at least 1. The device decides, for a GPU has one plan only.
ShardPlan PlanShards(const ModelSpec& spec, int64_t sequences, int threads, c10::Device device);

class ShardedModel {
 public:
  // For micro-batches of up to `sequences`. Keeps references to the tensors of `parameters`, not to
  // `parameters` itself; until Collect() their gradients are those of the first shard alone.
  ShardedModel(const ModelSpec& spec, const Parameters& parameters, int64_t sequences, int threads);

  // All shards read the same weights; this is the first one's model.
  const Transformer& model() const { return shards_.front().model; }
  int64_t shards() const { return static_cast<int64_t>(shards_.size()); }

  void ZeroGrads();
  // Adds the gradient of Σ (token losses)/`tokens` over the batch. Returns Σ (token losses), fp64,
  // on the device. `probe` may be null.
  at::Tensor Accumulate(const Batch& batch, int64_t step, double tokens, StepProbe* probe);
  // Adds all shards' gradients into those of the parameters.
  void Collect();

  // The losses of the batch's sequences, [B] in fp64 on the device, without gradients. `tapes`,
  // unless null, gets one more from each shard, in the order of the sequences.
  at::Tensor SequenceLosses(const Batch& batch, int64_t step, std::vector<Tape>* tapes) const;

  // Rows without a direction since the last call; waits for the device.
  int64_t TakeZeroRows();

 private:
  struct Shard {
    at::Tensor grads;  // of its model, in one flat buffer
    Transformer model;
  };
  ShardPlan PlanOf(const Batch& batch) const;
  at::Tensor AccumulateShard(int64_t shard, const Batch& batch, int64_t step, double tokens,
                             StepProbe* probe) const;

  int threads_;
  std::vector<Shard> shards_;
  at::Tensor zero_rows_;  // int64 [shards]
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_SHARDS_H_
