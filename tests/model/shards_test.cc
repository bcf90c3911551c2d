// A micro-batch in shards gives what the whole gives, whatever the threads.
#include "model/shards.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/model/every_placement.h"
#include "tests/model/probed_model.h"

namespace normlab::model {
namespace {

ModelSpec PresetSpec(const char* preset, const char* seq_len) {
  RunConfig config;
  CHECK_OK(config.Parse("model.preset", preset));
  CHECK_OK(config.Parse("model.seq_len", seq_len));
  CHECK_OK(config.Parse("train.precision", "fp32"));
  return MakeModelSpec(config, 256);
}

TEST(ShardPlan, DependsOnTheRunAloneButForWhatGoesSideBySide) {
  const ModelSpec nano = PresetSpec("nano", "128");
  for (const auto& [sequences, shards] :
       {std::pair<int64_t, int64_t>{1, 1}, {7, 1}, {8, 2}, {15, 3}, {64, 16}, {1000, 16}}) {
    for (const int threads : {1, 2, 3, 16, 64}) {
      EXPECT_EQ(PlanShards(nano, sequences, threads, at::kCPU).shards, shards)
          << sequences << " sequences, " << threads << " threads";
    }
  }
}

TEST(ShardPlan, AShardHasOneSequenceAtLeast) {
  EXPECT_EQ(PlanShards(PresetSpec("nano", "2048"), 3, 2, at::kCPU).shards, 3);
}

// 16 shards' gradients of a model are 256 MiB or less.
TEST(ShardPlan, LargeModelsAreNotDivided) {
  EXPECT_EQ(PlanShards(PresetSpec("micro", "1024"), 64, 2, at::kCPU).shards, 6);
  EXPECT_EQ(PlanShards(PresetSpec("gpt2-124m", "1024"), 64, 2, at::kCPU).shards, 1);
}

TEST(ShardPlan, AGpuTakesAllAtOnce) {
  const ShardPlan plan = PlanShards(PresetSpec("nano", "128"), 64, 2, at::Device(at::kCUDA, 0));
  EXPECT_EQ(plan.shards, 1);
  EXPECT_EQ(plan.side_by_side, 1);
  EXPECT_EQ(plan.SequencesAtOnce(64), 64);
}

// Where threads would go idle with a shard each, they share a shard's operations instead.
TEST(ShardPlan, SideBySideWhereHalfOfTheThreadsAreBusy) {
  const ModelSpec nano = PresetSpec("nano", "128");
  const auto side_by_side = [&](int64_t sequences, int threads) {
    return PlanShards(nano, sequences, threads, at::kCPU).side_by_side;
  };
  EXPECT_EQ(side_by_side(64, 1), 1);
  EXPECT_EQ(side_by_side(4, 2), 1);  // one shard
  EXPECT_EQ(side_by_side(8, 2), 2);
  EXPECT_EQ(side_by_side(8, 4), 2);
  EXPECT_EQ(side_by_side(8, 5), 1);
  EXPECT_EQ(side_by_side(64, 3), 3);
  EXPECT_EQ(side_by_side(64, 32), 16);
  EXPECT_EQ(side_by_side(64, 33), 1);
}

TEST(ShardPlan, OneAfterTheOtherNeedsLessAtATime) {
  const ModelSpec nano = PresetSpec("nano", "128");
  EXPECT_EQ(PlanShards(nano, 14, 1, at::kCPU).SequencesAtOnce(14), 5);
  EXPECT_EQ(PlanShards(nano, 14, 2, at::kCPU).SequencesAtOnce(14), 10);
  EXPECT_EQ(PlanShards(nano, 14, 3, at::kCPU).SequencesAtOnce(14), 14);
}

struct Gradients {
  double loss;
  at::Tensor all;
  std::vector<ProfileRecord> profiles;
};

constexpr int64_t kSequences = 11, kLength = 96;  // two shards, of 6 and 5 sequences
constexpr int64_t kMoreSequences = 16;            // three, of 6, 5 and 5
const Overrides& LongEnough() {
  static const Overrides overrides = {{"model.seq_len", "96"}};
  return overrides;
}

Batch RandomBatch(int64_t vocab, int64_t sequences = kSequences) {
  at::Generator generator = at::detail::createCPUGenerator(5);
  const auto draw = [&] {
    return at::randint(0, vocab, {sequences, kLength}, generator, at::kLong);
  };
  return {draw(), draw()};
}

Gradients InShards(const std::string& placement, const Batch& batch, int threads) {
  at::set_num_threads(threads);
  Forwarded run(placement, LongEnough(), /*factor=*/4);
  ShardedModel sharded(run.spec, run.parameters, kSequences, threads);
  EXPECT_EQ(sharded.shards(), 2);
  StepProbe probe(run.spec, run.parameters, sharded.shards());
  sharded.ZeroGrads();
  const at::Tensor loss =
      sharded.Accumulate(batch, /*step=*/3, static_cast<double>(batch.inputs.numel()), &probe);
  sharded.Collect();
  at::set_num_threads(1);
  return {loss.item<double>(), run.parameters.grads(), probe.Profiles(3)};
}

Gradients AtOnce(const std::string& placement, const Batch& batch) {
  Forwarded run(placement, LongEnough(), /*factor=*/4);
  StepProbe probe(run.spec, run.parameters, /*shards=*/1);
  ForwardOptions options;
  options.step = 3;
  options.on_stream = [&](size_t s, const at::Tensor& x) { probe.WatchStream(0, s, x); };
  run.parameters.grads().zero_();
  const at::Tensor loss = CrossEntropySum(run.model.Forward(batch.inputs, options), batch.targets);
  (loss / static_cast<double>(batch.inputs.numel())).backward();
  return {loss.item<double>(), run.parameters.grads(), probe.Profiles(3)};
}

class Shards : public testing::TestWithParam<std::string> {};

TEST_P(Shards, GiveTheGradientOfTheWholeBatch) {
  const Batch batch = RandomBatch(29);
  const Gradients whole = AtOnce(GetParam(), batch);
  const Gradients divided = InShards(GetParam(), batch, 1);
  EXPECT_NEAR(divided.loss, whole.loss, 1e-12 * whole.loss);
  const double size = whole.all.norm().item<double>();
  EXPECT_GT(size, 0);
  EXPECT_LT((divided.all - whole.all).norm().item<double>(), 1e-11 * size);
  const auto &streams = Find(divided.profiles, "stream_grad"),
             &of_whole = Find(whole.profiles, "stream_grad");
  ASSERT_EQ(streams.size(), of_whole.size());
  for (size_t i = 0; i < streams.size(); ++i) {
    EXPECT_NEAR(streams[i], of_whole[i], 1e-11 * of_whole[i]) << i;
  }
}

TEST_P(Shards, SideBySideAreTheSameBits) {
  const Batch batch = RandomBatch(29);
  const Gradients alone = InShards(GetParam(), batch, 1), beside = InShards(GetParam(), batch, 2);
  EXPECT_EQ(alone.loss, beside.loss);
  EXPECT_TRUE(at::equal(alone.all, beside.all));
  EXPECT_EQ(Find(alone.profiles, "stream_grad"), Find(beside.profiles, "stream_grad"));
}

struct Evaluated {
  at::Tensor losses;
  Tape tape;
};

// After another batch, whose tape is not part of this one's.
Evaluated EvaluatedInShards(const std::string& placement, const Batch& batch, int threads) {
  at::set_num_threads(threads);
  const Forwarded run(placement, LongEnough(), /*factor=*/4);
  const ShardedModel sharded(run.spec, run.parameters, kMoreSequences, threads);
  EXPECT_EQ(sharded.shards(), 3);
  std::vector<Tape> tapes = {run.tape};
  const at::Tensor losses = sharded.SequenceLosses(batch, /*step=*/3, &tapes);
  EXPECT_FALSE(losses.requires_grad());
  EXPECT_EQ(tapes.size(), 4u);
  tapes.erase(tapes.begin());
  at::set_num_threads(1);
  return {losses, JoinTapes(std::move(tapes))};
}

void ExpectNear(const at::Tensor& got, const at::Tensor& want) {
  ASSERT_EQ(got.defined(), want.defined());
  if (!want.defined()) return;
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_LE((got - want).abs().max().item<double>(), 1e-11 * want.abs().max().item<double>());
}

void ExpectSameBits(const Evaluated& one, const Evaluated& other) {
  EXPECT_TRUE(at::equal(one.losses, other.losses));
  for (size_t s = 0; s < one.tape.hidden.size(); ++s) {
    EXPECT_TRUE(at::equal(one.tape.hidden[s], other.tape.hidden[s])) << s;
  }
}

TEST_P(Shards, EvaluateToTheLossesAndTheTapeOfTheWholeBatch) {
  const Batch batch = RandomBatch(29, kMoreSequences);
  const Forwarded run(GetParam(), LongEnough(), /*factor=*/4);
  const at::NoGradGuard no_grad;
  Tape whole;
  const at::Tensor logits = run.model.Forward(batch.inputs, {.step = 3, .tape = &whole});
  const Evaluated divided = EvaluatedInShards(GetParam(), batch, 1);
  ExpectNear(divided.losses, CrossEntropyBySequence(logits, batch.targets));
  ASSERT_EQ(divided.tape.hidden.size(), whole.hidden.size());
  for (size_t s = 0; s < whole.hidden.size(); ++s) {
    ExpectNear(divided.tape.hidden[s], whole.hidden[s]);
  }
  ASSERT_EQ(divided.tape.sublayers.size(), whole.sublayers.size());
  for (size_t s = 0; s < whole.sublayers.size(); ++s) {
    for (const auto member :
         {&SublayerTape::raw, &SublayerTape::out, &SublayerTape::q, &SublayerTape::k}) {
      ExpectNear(divided.tape.sublayers[s].*member, whole.sublayers[s].*member);
    }
  }
}

// One after the other on one thread; two side by side; all three on five threads.
TEST_P(Shards, EvaluateToTheSameBitsOnOneTwoAndFiveThreads) {
  const Batch batch = RandomBatch(29, kMoreSequences);
  const Evaluated alone = EvaluatedInShards(GetParam(), batch, 1);
  for (const int threads : {2, 5}) {
    ExpectSameBits(alone, EvaluatedInShards(GetParam(), batch, threads));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Shards, EachPlacement(), PlacementTestName);

// The last micro-batch of a step may be smaller, and make fewer shards.
TEST(ShardedModel, AddsUpMicroBatchesOfUnequalSize) {
  const Batch batch = RandomBatch(29);
  Forwarded run("geo", LongEnough(), /*factor=*/4);
  ShardedModel sharded(run.spec, run.parameters, kSequences - 2, /*threads=*/2);
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (const auto& [first, count] :
       {std::pair<int64_t, int64_t>{0, kSequences - 2}, {kSequences - 2, 2}}) {
    loss += sharded.Accumulate(
        {batch.inputs.narrow(0, first, count), batch.targets.narrow(0, first, count)}, /*step=*/3,
        static_cast<double>(batch.inputs.numel()), nullptr);
  }
  sharded.Collect();
  const Gradients whole = AtOnce("geo", batch);
  EXPECT_NEAR(loss.item<double>(), whole.loss, 1e-12 * whole.loss);
  const double size = whole.all.norm().item<double>();
  EXPECT_LT((run.parameters.grads() - whole.all).norm().item<double>(), 1e-11 * size);
  sharded.ZeroGrads();
  sharded.Collect();
  EXPECT_EQ(run.parameters.grads().abs().max().item<double>(), 0);
}

// Weights of zero make rows without a direction, each counted once in each of 4 sublayers.
TEST(ShardedModel, CountsTheZeroRowsOfAllShards) {
  Forwarded run("geo", LongEnough(), /*factor=*/0);
  ShardedModel sharded(run.spec, run.parameters, kSequences, /*threads=*/2);
  sharded.Accumulate(RandomBatch(29), /*step=*/1, 1.0, nullptr);
  EXPECT_EQ(sharded.TakeZeroRows(), 4 * kSequences * kLength);
  EXPECT_EQ(sharded.TakeZeroRows(), 0);
}

}  // namespace
}  // namespace normlab::model
