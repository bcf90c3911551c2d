#include "model/evaluation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/status.h"

namespace normlab::model {

int64_t ProbeSequences(int64_t seq_len) {
  constexpr int64_t kTokens = 2048;
  return std::clamp<int64_t>(kTokens / seq_len, 1, kEvalBatchSequences);
}

absl::StatusOr<EvalRecord> Evaluate(const ShardedModel& sharded, const TokenSource& source,
                                    const EvaluationOptions& options, Tape* tape) {
  const int64_t total = std::min(options.sequences, source.blocks());
  const int64_t step = std::max<int64_t>(options.step, 1);
  double loss_sum = 0;
  double ppl_sum = 0;
  const int64_t tape_end =
      tape == nullptr ? 0 : std::min(ProbeSequences(sharded.model().spec().seq_len), total);
  std::vector<Tape> parts;
  int64_t count = 0;
  for (int64_t first = 0; first < total; first += count) {
    const bool taped = first < tape_end;
    // The tape's sequences end with a batch.
    count = std::min(options.batch, (taped ? tape_end : total) - first);
    std::vector<int64_t> blocks(count);
    std::iota(blocks.begin(), blocks.end(), first);
    ASSIGN_OR_RETURN(const Batch batch, source.Read(blocks));
    const at::Tensor losses = sharded.SequenceLosses(batch, step, taped ? &parts : nullptr);
    loss_sum += losses.sum().item<double>();
    ppl_sum += losses.exp().sum().item<double>();
  }
  if (tape != nullptr) *tape = JoinTapes(std::move(parts));
  EvalRecord record;
  record.step = options.step;
  record.val_loss = loss_sum / static_cast<double>(total);
  record.ppl_of_mean = std::exp(record.val_loss);
  record.mean_seq_ppl = ppl_sum / static_cast<double>(total);
  return record;
}

}  // namespace normlab::model
