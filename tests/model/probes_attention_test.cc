// Attention and growth profiles against plain loops over the stored activations.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/probes/attention_profile.h"
#include "model/probes/growth_profile.h"
#include "tests/model/probed_model.h"

namespace normlab::model {
namespace {

struct Sharpness {
  double largest = -std::numeric_limits<double>::infinity();
  double entropy = 0, log_z = 0;
};

// Straight from the definition; q, k [B, H, T, h].
Sharpness Direct(const at::Tensor& q, const at::Tensor& k) {
  const auto at = [](const at::Tensor& x, int64_t b, int64_t h, int64_t t, int64_t c) {
    return x[b][h][t][c].item<double>();
  };
  Sharpness out;
  const double queries = static_cast<double>(q.size(0) * q.size(1) * q.size(2));
  for (int64_t b = 0; b < q.size(0); ++b) {
    for (int64_t h = 0; h < q.size(1); ++h) {
      for (int64_t i = 0; i < q.size(2); ++i) {
        std::vector<double> logits;
        for (int64_t j = 0; j <= i; ++j) {
          double dot = 0;
          for (int64_t c = 0; c < q.size(3); ++c) dot += at(q, b, h, i, c) * at(k, b, h, j, c);
          logits.push_back(dot / std::sqrt(static_cast<double>(q.size(3))));
        }
        double z = 0;
        for (const double logit : logits) z += std::exp(logit);
        for (const double logit : logits) {
          out.largest = std::max(out.largest, logit);
          out.entropy -= std::exp(logit) / z * std::log(std::exp(logit) / z) / queries;
        }
        out.log_z += std::log(z) / queries;
      }
    }
  }
  return out;
}

void ExpectAttentionDefinitions(const std::string& placement) {
  for (const Overrides& overrides :
       {AwkwardShape(), Overrides{{"model.positions", "rotary"}, {"model.seq_len", "5"}}}) {
    const Forwarded run(placement, overrides, 4);
    const auto profiles = AttentionProfiles(run.tape, 1);
    ASSERT_EQ(profiles.size(), 3u);
    EXPECT_EQ(profiles[0].first_index, 1);
    ASSERT_EQ(profiles[0].values.size(), static_cast<size_t>(run.spec.layers));
    for (int64_t block = 0; block < run.spec.layers; ++block) {
      const SublayerTape& tape = run.tape.sublayers[2 * block];
      const Sharpness expected = Direct(tape.q, tape.k);
      EXPECT_NEAR(Find(profiles, "attention_max")[block], expected.largest, 1e-12);
      EXPECT_NEAR(Find(profiles, "attention_entropy")[block], expected.entropy, 1e-12);
      EXPECT_NEAR(Find(profiles, "attention_log_z")[block], expected.log_z, 1e-12);
    }
  }
}

TEST(AttentionProfile, EqualsItsDefinition) {
  for (const char* placement : {"pre", "post", "peri", "geo"}) {
    SCOPED_TRACE(placement);
    ExpectAttentionDefinitions(placement);
  }
}

// The logits are rounded to the run's precision, then nothing is lost.
TEST(AttentionProfile, HoldsInEveryPrecision) {
  for (const char* precision : {"fp32", "bf16"}) {
    Overrides overrides = AwkwardShape();
    overrides.push_back({"train.precision", precision});
    const Forwarded run("pre", overrides, 4);
    const auto profiles = AttentionProfiles(run.tape, 1);
    const Sharpness expected = Direct(run.tape.sublayers[0].q, run.tape.sublayers[0].k);
    EXPECT_NEAR(Find(profiles, "attention_max")[0], expected.largest, 1e-5) << precision;
    EXPECT_NEAR(Find(profiles, "attention_entropy")[0], expected.entropy, 1e-5) << precision;
    EXPECT_NEAR(Find(profiles, "attention_log_z")[0], expected.log_z, 1e-5) << precision;
  }
}

// A head that looks at one position only has no entropy, and finite logits give no NaN.
TEST(AttentionProfile, ASharpHeadHasNoEntropy) {
  Forwarded run("pre", AwkwardShape());
  SublayerTape& tape = run.tape.sublayers[0];
  tape.q = at::ones_like(tape.q) * 1e3;
  tape.k = at::arange(7, at::kDouble).view({1, 1, 7, 1}).expand_as(tape.k);
  const auto profiles = AttentionProfiles(run.tape, 1);
  EXPECT_EQ(Find(profiles, "attention_entropy")[0], 0);
  EXPECT_NEAR(Find(profiles, "attention_max")[0], 6e3 * std::sqrt(20.0), 1e-6);
}

// A uniform one has the logarithm of the number of positions that a query sees.
TEST(AttentionProfile, AUniformHeadHasTheMostEntropy) {
  Forwarded run("pre", AwkwardShape());
  run.tape.sublayers[0].q.zero_();
  const auto profiles = AttentionProfiles(run.tape, 1);
  const double expected = std::lgamma(8.0) / 7;  // mean of ln 1 … ln 7
  EXPECT_NEAR(Find(profiles, "attention_entropy")[0], expected, 1e-14);
  EXPECT_NEAR(Find(profiles, "attention_log_z")[0], expected, 1e-14);
  EXPECT_EQ(Find(profiles, "attention_max")[0], 0);
}

double LogMagnitude(const at::Tensor& sequence) {
  const at::Tensor flat = sequence.contiguous().view({-1});
  double sum = 0;
  for (int64_t i = 0; i < flat.numel(); ++i) sum += std::abs(flat.const_data_ptr<double>()[i]);
  return std::log(sum / static_cast<double>(flat.numel()));
}

TEST(GrowthProfile, IsTheMeanLogRatioOfBlockEnds) {
  for (const char* placement : {"pre", "peri", "post", "geo"}) {
    const Forwarded run(placement, {{"model.layers", "3"}});
    const auto profiles = GrowthProfiles(run.tape, 1);
    ASSERT_EQ(profiles.size(), 1u);
    EXPECT_EQ(profiles[0].first_index, 2);
    ASSERT_EQ(Find(profiles, "log_growth").size(), 2u);
    for (int64_t block = 2; block <= 3; ++block) {
      double expected = 0;
      for (int64_t b = 0; b < 3; ++b) {
        expected += (LogMagnitude(run.tape.hidden[2 * block][b]) -
                     LogMagnitude(run.tape.hidden[2 * block - 2][b])) /
                    3;
      }
      EXPECT_NEAR(Find(profiles, "log_growth")[block - 2], expected, 1e-13) << placement;
    }
  }
}

TEST(GrowthProfile, OneBlockHasNone) {
  EXPECT_TRUE(GrowthProfiles(Forwarded("pre", AwkwardShape()).tape, 1).empty());
}

}  // namespace
}  // namespace normlab::model
