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
  const at::Tensor largest = scores.amax(-1);
  const at::Tensor log_share = scores.log_softmax(-1);
  // The largest logit has the largest share: the two differ by log Z, which is a sum over the row
  // that need not be taken again.
  const at::Tensor log_z = largest - log_share.amax(-1);
  // Above the diagonal the share is 0 and its logarithm −∞; they have no part in the entropy.
  const at::Tensor weighted = scores.softmax(-1).mul_(log_share.clamp_min_(kLowestLog));
  return at::stack(
      {largest.max().to(at::kDouble), -weighted.sum(at::kDouble), log_z.sum(at::kDouble)});
}

// All heads' queries in all sequences make `queries`.
at::Tensor JoinSequences(at::ArrayRef<at::Tensor> by_sequence, double queries) {
  const at::Tensor all = at::stack(by_sequence, 1);  // [3, B]
  return at::stack({all[0].max(), all[1].sum() / queries, all[2].sum() / queries});
}

}  // namespace

std::vector<ProfileRecord> AttentionProfiles(const Tape& tape, int64_t step) {
  const at::NoGradGuard no_grad;
  std::vector<const SublayerTape*> layers;
  for (const SublayerTape& sublayer : tape.sublayers) {
    if (sublayer.q.defined()) layers.push_back(&sublayer);
  }
  const at::Tensor& first = layers.front()->q;  // [B, H, T, h]
  const int64_t sequences = first.size(0), queries = first.size(1) * first.size(2);
  const int64_t count = static_cast<int64_t>(layers.size()) * sequences;
  const int64_t scores = queries * first.size(2);
  const auto measured = MeasureEach(count, first.device(), scores, [&](int64_t i) {
    const SublayerTape& layer = *layers[i / sequences];
    const auto of_sequence = [&](const at::Tensor& x) {
      return AtLeastSingle(x.narrow(0, i % sequences, 1));
    };
    return MeasureSequence(of_sequence(layer.q), of_sequence(layer.k));
  });
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < count; i += sequences) {
    rows.push_back(JoinSequences(at::ArrayRef(measured).slice(i, sequences),
                                 static_cast<double>(sequences * queries)));
  }
  return MakeProfiles({"attention_max", "attention_entropy", "attention_log_z"}, rows, step, 1);
}

}  // namespace normlab::model
