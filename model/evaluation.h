// Validation on a fixed set: the first sequences of val.bin in their order, the same at every
// evaluation, in every arm and for every batch size. Sums are in fp64.
#ifndef NORMLAB_MODEL_EVALUATION_H_
#define NORMLAB_MODEL_EVALUATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/record.h"
#include "model/shards.h"
#include "model/token_source.h"
#include "model/transformer.h"

namespace normlab::model {

// Sequences in one of the "batches" that eval.batches counts: not those of training, so that arms
// with other batch sizes are held against the same text.
inline constexpr int64_t kEvalBatchSequences = 8;

// How many of the first sequences probes look at: up to 8 with 2,048 tokens at most, or one. A
// function of the length alone, so that it is the same whatever fits at once; and few, since every
// layer's activations are held together, which training with small micro-batches never does.
int64_t ProbeSequences(int64_t seq_len);

struct EvaluationOptions {
  int64_t sequences = 0;  // at most as many as the file has
  int64_t batch = 1;      // sequences at once; does not change the result beyond rounding
  int64_t step = 0;       // goes into the record; a placement that moves with it uses max(step, 1)
};

// val_loss (mean over all tokens, nats), exp(val_loss), and the mean over sequences of
// exp(loss of the sequence). `tape`, when given, holds the first ProbeSequences of them (or as many
// as there are), whatever `batch` is.
absl::StatusOr<EvalRecord> Evaluate(const ShardedModel& sharded, const TokenSource& source,
                                    const EvaluationOptions& options, Tape* tape);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_EVALUATION_H_
