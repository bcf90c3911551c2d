#include "model/memory_estimate.h"

#include <string>

#include "absl/strings/str_format.h"
#include "core/run_config.h"
#include "model/evaluation.h"
#include "model/parameters.h"
#include "model/probes/sensitivity.h"

namespace normlab::model {
namespace {

int64_t BranchBytes(const ModelSpec& spec) {
  return spec.precision == Precision::kBf16 ? 2 : spec.StreamBytes();
}

// What one token leaves behind in one sublayer.
int64_t TokenBytes(const ModelSpec& spec, const SublayerSpec& sublayer) {
  const int64_t stream = spec.StreamBytes() * spec.width;
  const int64_t branch = BranchBytes(spec) * spec.width;
  int64_t bytes = stream;  // the new stream
  bytes += branch;         // what the first product read
  bytes += branch;         // f's result
  if (sublayer.branch == Branch::kAttention) {
    bytes += 3 * branch;  // q, k, v
    bytes += 2 * branch;  // the heads' results, as they are and side by side
    bytes += 4 * spec.heads;
    if (spec.positions == Positions::kRotary) bytes += 2 * branch;  // q and k turned
  } else {
    bytes += 2 * BranchBytes(spec) * spec.ffn;  // before and after the activation
  }
  // A plain update takes the branch's norm along and keeps only what the branch left.
  if (sublayer.norm_out && sublayer.combine != Combine::kPlain) bytes += 2 * stream;
  if (sublayer.norm_post) bytes += stream;
  if (sublayer.combine == Combine::kOrthogonal) bytes += 3 * stream;
  return bytes;
}

// Hidden states, branches, queries and keys of the sequences that are looked at, and the attention
// weights of one layer and sequence, every position against every other, in some copies (measured):
// logits, shares, their logarithms and what comes of both; for σ_max the graph of a derivative, and
// the vectors of its iteration, twice and each with a copy.
int64_t ProbeBytes(const ModelSpec& spec, Probed probed) {
  constexpr int64_t kProfileCopies = 5, kSensitivityCopies = 6;
  const int64_t branch = BranchBytes(spec) * spec.width;
  int64_t by_token = spec.StreamBytes() * spec.width;
  for (const SublayerSpec& sublayer : spec.sublayers) {
    by_token += spec.StreamBytes() * spec.width + 2 * branch;
    if (sublayer.branch == Branch::kAttention) by_token += 3 * branch;
  }
  const int64_t tape = ProbeSequences(spec.seq_len) * spec.seq_len * by_token;
  const int64_t weights = spec.heads * spec.seq_len * spec.seq_len * spec.StreamBytes();
  switch (probed) {
    case Probed::kNothing:
      return tape;
    case Probed::kProfiles:
      return tape + kProfileCopies * weights;
    case Probed::kSensitivity:
      return tape + kSensitivityCopies * weights +
             4 * kSensitivityIterations * spec.seq_len * spec.width * spec.StreamBytes();
  }
  return tape;
}

double Gib(int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }

// Of a step, all but the weights grows with the micro-batch.
std::string Cure(const MemoryEstimate& estimate, int64_t sequences, int64_t limit) {
  if (estimate.weights + estimate.probes > limit && estimate.weights <= limit) {
    return "; probe.every 0 and probe.sensitivity false leave most of the probes' part out";
  }
  const int64_t by_sequence = (estimate.activations + estimate.logits) / sequences;
  const int64_t fits = (limit - estimate.weights) / by_sequence;
  if (fits < 1) return "; no train.micro_batch makes it fit";
  return absl::StrFormat("; train.micro_batch %d would fit", fits);
}

}  // namespace

Probed ProbedBy(const RunConfig& config) {
  if (config.Bool("probe.sensitivity")) return Probed::kSensitivity;
  return config.Int("probe.every") > 0 ? Probed::kProfiles : Probed::kNothing;
}

MemoryEstimate EstimateMemory(const ModelSpec& spec, const StepMemory& step) {
  const int64_t buffers = 3 + step.shards;  // values, first and second moments, gradients
  const int64_t parameters = ParameterCount(spec);
  const int64_t stream = spec.StreamBytes();
  const int64_t tokens = step.sequences * spec.seq_len;
  MemoryEstimate estimate;
  estimate.weights = parameters * stream * buffers;
  if (spec.precision == Precision::kBf16) estimate.weights += parameters * BranchBytes(spec);
  estimate.activations = 2 * tokens * spec.width * stream;  // embedding, final norm
  for (const SublayerSpec& sublayer : spec.sublayers) {
    estimate.activations += tokens * TokenBytes(spec, sublayer);
  }
  // Logits, log-softmax, and the gradients of both.
  estimate.logits = 4 * tokens * spec.vocab * stream;
  estimate.probes = ProbeBytes(spec, step.probed);
  return estimate;
}

absl::Status CheckMemory(const ModelSpec& spec, const StepMemory& step, int64_t limit) {
  const MemoryEstimate estimate = EstimateMemory(spec, step);
  if (estimate.Total() <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "memory: this run needs about %.2f GiB (weights and optimiser %.2f; activations %.2f and "
      "logits %.2f, with %d sequences of %d tokens at once; or probes %.2f, if that is more), and "
      "there are %.2f GiB here%s",
      Gib(estimate.Total()), Gib(estimate.weights), Gib(estimate.activations), Gib(estimate.logits),
      step.sequences, spec.seq_len, Gib(estimate.probes), Gib(limit),
      Cure(estimate, step.sequences, limit)));
}

}  // namespace normlab::model
