#include "model/shards.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>

#include "kernels/torch/torch_threads.h"

namespace normlab::model {
namespace {

// Below this many tokens the fixed cost of an operation shows.
constexpr int64_t kShardTokens = 512;
constexpr int64_t kMostShards = 16;
// Of all shards' gradients. Products of larger models keep their threads busy by themselves.
constexpr int64_t kMostGradientBytes = int64_t{256} << 20;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Side by side, a round of shards takes as long as one shard; one after the other, the threads
// share each operation, and of two threads a quarter of the time is lost with that, of more a
// larger part.
bool WorthSideBySide(int64_t shards, int64_t threads) {
  return shards > 1 && threads > 1 && 2 * shards >= threads * CeilDiv(shards, threads);
}

// `gradient_bytes` of one shard.
ShardPlan PlanFor(int64_t gradient_bytes, int64_t seq_len, int64_t sequences, int threads,
                  c10::Device device) {
  ShardPlan plan;
  if (!device.is_cpu()) return plan;
  plan.shards = std::min({sequences, sequences * seq_len / kShardTokens, kMostShards,
                          kMostGradientBytes / gradient_bytes});
  plan.shards = std::max<int64_t>(plan.shards, 1);
  if (WorthSideBySide(plan.shards, threads)) {
    plan.side_by_side = std::min<int64_t>(plan.shards, threads);
  }
  return plan;
}

struct Part {
  int64_t first, count;
};

// The sequences of shard `index`: parts of equal size, the first ones by one larger.
Part PartOf(int64_t sequences, int64_t shards, int64_t index) {
  const int64_t size = sequences / shards, larger = sequences % shards;
  return {index * size + std::min(index, larger), size + (index < larger ? 1 : 0)};
}

// task(shard, its part of the batch) for each shard of the plan.
void ForEachShard(const ShardPlan& plan, const Batch& batch,
                  const std::function<void(int64_t, const Batch&)>& task) {
  const auto run = [&](int64_t shard) {
    const auto [first, count] = PartOf(batch.inputs.size(0), plan.shards, shard);
    task(shard, {batch.inputs.narrow(0, first, count), batch.targets.narrow(0, first, count)});
  };
  if (plan.side_by_side > 1) {
    // In LibTorch's own pool: an operation inside knows that the threads are taken.
    kernels::OnTorchThreads(plan.shards, run);
  } else {
    for (int64_t shard = 0; shard < plan.shards; ++shard) run(shard);
  }
}

}  // namespace

int64_t ShardPlan::SequencesAtOnce(int64_t sequences) const {
  return std::min(sequences, side_by_side * CeilDiv(sequences, shards));
}

ShardPlan PlanShards(const ModelSpec& spec, int64_t sequences, int threads, c10::Device device) {
  return PlanFor(ParameterCount(spec) * spec.StreamBytes(), spec.seq_len, sequences, threads,
                 device);
}

ShardedModel::ShardedModel(const ModelSpec& spec, const Parameters& parameters, int64_t sequences,
                           int threads)
    : threads_(threads) {
  const at::Tensor& values = parameters.values();
  const int64_t count = PlanShards(spec, sequences, threads, values.device()).shards;
  shards_.push_back({parameters.grads(), Transformer(spec, parameters)});
  while (shards() < count) {
    const Parameters apart = parameters.WithOwnGrads();
    shards_.push_back({apart.grads(), Transformer(spec, apart)});
  }
  zero_rows_ = at::zeros({count}, values.options().dtype(at::kLong));
}

void ShardedModel::ZeroGrads() {
  for (const Shard& shard : shards_) shard.grads.zero_();
}

ShardPlan ShardedModel::PlanOf(const Batch& batch) const {
  const at::Tensor& grads = shards_.front().grads;
  return PlanFor(static_cast<int64_t>(grads.nbytes()), model().spec().seq_len, batch.inputs.size(0),
                 threads_, grads.device());
}

at::Tensor ShardedModel::AccumulateShard(int64_t shard, const Batch& batch, int64_t step,
                                         double tokens, StepProbe* probe) const {
  ForwardOptions forward;
  forward.step = step;
  forward.zero_rows = zero_rows_.narrow(0, shard, 1);
  if (probe != nullptr) {
    forward.on_stream = [=](size_t s, const at::Tensor& x) { probe->WatchStream(shard, s, x); };
  }
  const at::Tensor loss =
      CrossEntropySum(shards_[shard].model.Forward(batch.inputs, forward), batch.targets);
  (loss / tokens).backward();
  return loss.detach().to(at::kDouble);
}

at::Tensor ShardedModel::Accumulate(const Batch& batch, int64_t step, double tokens,
                                    StepProbe* probe) {
  const ShardPlan plan = PlanOf(batch);
  std::vector<at::Tensor> losses(plan.shards);
  ForEachShard(plan, batch, [&](int64_t shard, const Batch& part) {
    losses[shard] = AccumulateShard(shard, part, step, tokens, probe);
  });
  return plan.shards == 1 ? losses.front() : at::stack(losses).sum();
}

void ShardedModel::Collect() {
  for (size_t shard = 1; shard < shards_.size(); ++shard) {
    shards_.front().grads.add_(shards_[shard].grads);
  }
}

at::Tensor ShardedModel::SequenceLosses(const Batch& batch, int64_t step,
                                        std::vector<Tape>* tapes) const {
  const ShardPlan plan = PlanOf(batch);
  std::vector<at::Tensor> losses(plan.shards);
  const size_t before = tapes != nullptr ? tapes->size() : 0;
  if (tapes != nullptr) tapes->resize(before + plan.shards);
  ForEachShard(plan, batch, [&](int64_t shard, const Batch& part) {
    const at::NoGradGuard no_grad;  // holds for one thread only
    ForwardOptions forward;
    forward.step = step;
    if (tapes != nullptr) forward.tape = &(*tapes)[before + shard];
    losses[shard] = CrossEntropyBySequence(model().Forward(part.inputs, forward), part.targets);
  });
  return at::cat(losses);
}

int64_t ShardedModel::TakeZeroRows() {
  const int64_t rows = zero_rows_.sum().item<int64_t>();
  zero_rows_.zero_();
  return rows;
}

}  // namespace normlab::model
