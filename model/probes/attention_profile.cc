#include "model/probes/attention_profile.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "model/attention.h"
#include "model/probes/profile.h"

namespace normlab::model {
namespace {

// Below the logarithm of every share that is not 0, in fp32 and fp64.
constexpr double kLowestLog = -1e3;

at::Tensor AtLeastSingle(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

// [largest logit, Σ entropy, Σ log Z] over one sequence; q, k [1, H, T, h].
at::Tensor MeasureSequence(const at::Tensor& q, const at::Tensor& k) {
  const at::Tensor scores = AttentionScores(q, k);
  const at::Tensor log_share = scores.log_softmax(-1);
  // Above the diagonal the share is 0 and its logarithm −∞; they have no part in the entropy.
  const at::Tensor weighted = scores.softmax(-1).mul_(log_share.clamp_min(kLowestLog));
  return at::stack({scores.max().to(at::kDouble), -weighted.sum(at::kDouble),
                    scores.logsumexp(-1).sum(at::kDouble)});
}

at::Tensor MeasureLayer(const SublayerTape& tape) {
  const at::Tensor q = AtLeastSingle(tape.q);
  const at::Tensor k = AtLeastSingle(tape.k);
  std::vector<at::Tensor> by_sequence;
  for (int64_t b = 0; b < q.size(0); ++b) {
    by_sequence.push_back(MeasureSequence(q.narrow(0, b, 1), k.narrow(0, b, 1)));
  }
  const at::Tensor all = at::stack(by_sequence, 1);  // [3, B]
  const double queries = static_cast<double>(q.size(0) * q.size(1) * q.size(2));
  return at::stack({all[0].max(), all[1].sum() / queries, all[2].sum() / queries});
}

}  // namespace

std::vector<ProfileRecord> AttentionProfiles(const Tape& tape, int64_t step) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> rows;
  for (const SublayerTape& sublayer : tape.sublayers) {
    if (sublayer.q.defined()) rows.push_back(MeasureLayer(sublayer));
  }
  return MakeProfiles({"attention_max", "attention_entropy", "attention_log_z"}, rows, step, 1);
}

}  // namespace normlab::model
