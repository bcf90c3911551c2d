// What an evaluation says, against plain loops over probabilities in fp64.

#include "model/evaluation.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/init.h"
#include "tests/builders/status_matchers.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

struct Evaluated {
  explicit Evaluated(const std::string& placement)
      : spec(TinySpec(placement, "fp64", 256)),
        parameters(spec),
        sharded(spec, parameters, /*sequences=*/5, /*threads=*/1) {
    InitialiseParameters(spec, parameters);
    const at::NoGradGuard no_grad;
    parameters.values().mul_(8.0);  // sequences differ in how well they are predicted
    const TempDir dir;
    auto opened = TokenSource::Open(TinyDataset(dir) + "/train.bin", spec.seq_len, 256);
    CHECK_OK(opened.status());
    source.emplace(*std::move(opened));
  }

  // Mean loss of one sequence at a training step, from softmax probabilities.
  double LossOf(int64_t block, int64_t step = 1) const {
    const at::NoGradGuard no_grad;
    const Batch batch = *source->Read({block});
    ForwardOptions options;
    options.step = step;
    const at::Tensor p = sharded.model().Forward(batch.inputs, options).softmax(-1)[0];
    double sum = 0;
    for (int64_t t = 0; t < spec.seq_len; ++t) {
      sum -= std::log(p[t][batch.targets[0][t].item<int64_t>()].item<double>());
    }
    return sum / static_cast<double>(spec.seq_len);
  }

  ModelSpec spec;
  Parameters parameters;
  ShardedModel sharded;
  std::optional<TokenSource> source;
};

TEST(Evaluation, PerplexitiesAreThoseOfTheirDefinitions) {
  const Evaluated run("pre");
  double loss = 0, perplexity = 0;
  for (int64_t block = 0; block < 7; ++block) {
    loss += run.LossOf(block) / 7;
    perplexity += std::exp(run.LossOf(block)) / 7;
  }
  const auto record =
      Evaluate(run.sharded, *run.source, {.sequences = 7, .batch = 3, .step = 5}, nullptr);
  ASSERT_THAT(record, IsOk());
  EXPECT_EQ(record->step, 5);
  EXPECT_NEAR(record->val_loss, loss, 1e-12 * loss);
  EXPECT_NEAR(record->ppl_of_mean, std::exp(loss), 1e-12 * std::exp(loss));
  EXPECT_NEAR(record->mean_seq_ppl, perplexity, 1e-12 * perplexity);
  EXPECT_GT(record->mean_seq_ppl, 1.01 * record->ppl_of_mean);  // they are two numbers
}

// Also of a model in fp32: its token losses, then nothing is rounded to fp32 any more.
TEST(Evaluation, LossesOfTokensAddUpInDoublePrecision) {
  at::Generator generator = at::detail::createCPUGenerator(4);
  const at::Tensor logits = at::randn({2, 500, 29}, generator, at::kFloat) * 3.0;
  const at::Tensor targets = at::randint(0, 29, {2, 500}, generator, at::kLong);
  const at::Tensor by_sequence = CrossEntropyBySequence(logits, targets);
  const at::Tensor by_token =
      at::cross_entropy_loss(logits.view({-1, 29}), targets.view({-1}), {}, at::Reduction::None);
  ASSERT_EQ(by_token.scalar_type(), at::kFloat);
  for (int64_t b = 0; b < 2; ++b) {
    double mean = 0;
    for (int64_t t = 0; t < 500; ++t) mean += by_token[500 * b + t].item<double>() / 500;
    EXPECT_NEAR(by_sequence[b].item<double>(), mean, 1e-13 * mean);
  }
}

TEST(Evaluation, TheWholeFileIsReadAndNoMore) {
  const Evaluated run("pre");
  const int64_t blocks = run.source->blocks();
  const auto all = Evaluate(run.sharded, *run.source, {.sequences = blocks, .batch = 5}, nullptr);
  const auto more =
      Evaluate(run.sharded, *run.source, {.sequences = 2 * blocks, .batch = 5}, nullptr);
  EXPECT_EQ(all->val_loss, more->val_loss);
}

// ProRes lets its branches in with the training step: so must the evaluation at that step.
TEST(Evaluation, APlacementThatMovesIsTakenAtItsStep) {
  const Evaluated run("prores");
  for (const int64_t step : {0, 1, 700}) {
    const auto record = Evaluate(run.sharded, *run.source, {.sequences = 1, .step = step}, nullptr);
    ASSERT_THAT(record, IsOk());
    EXPECT_NEAR(record->val_loss, run.LossOf(0, std::max<int64_t>(step, 1)), 1e-12);
  }
  EXPECT_GT(std::abs(run.LossOf(0, 700) - run.LossOf(0, 1)), 1e-3);
}

}  // namespace
}  // namespace normlab::model
