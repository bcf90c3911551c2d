#include "model/train_loop.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/evaluation.h"
#include "model/placement_table.h"
#include "tests/builders/status_matchers.h"
#include "tests/fakes/fake_clock.h"
#include "tests/model/every_placement.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

struct TrainTest : testing::Test {
  TrainTest() {
    setup.config = TinyConfig("pre");
    setup.data_dir = TinyDataset(dir);
    setup.checkpoint_dir = dir.File("checkpoints");
  }
  // The trained loop; its records are in `sink`.
  std::unique_ptr<TrainLoop> Train() {
    sink.records.clear();
    auto loop = TrainLoop::Create(setup, sink, clock);
    CHECK(loop.ok()) << loop.status().ToString();
    const auto ended = (*loop)->Run([] { return false; });
    CHECK(ended.ok()) << ended.status().ToString();
    exit = *ended;
    return *std::move(loop);
  }
  double FirstLoss() const { return sink.All<ScalarsRecord>().front().values[0].second; }

  TempDir dir;
  FakeClock clock;
  TrainSetup setup;
  RecordingSink sink;
  TrainerExit exit = TrainerExit::kBadConfig;
};

TEST_F(TrainTest, RecordsComeInTheirOrder) {
  Train();
  EXPECT_TRUE(std::holds_alternative<HelloRecord>(sink.records[0]));
  EXPECT_EQ(std::get<EvalRecord>(sink.records[1]).step, 0);
  const auto scalars = sink.All<ScalarsRecord>();
  ASSERT_EQ(scalars.size(), 40u);
  for (size_t i = 0; i < scalars.size(); ++i) {
    EXPECT_EQ(scalars[i].step, static_cast<int64_t>(i) + 1);
  }
  std::vector<int64_t> eval_steps;
  for (const EvalRecord& eval : sink.All<EvalRecord>()) eval_steps.push_back(eval.step);
  EXPECT_EQ(eval_steps, (std::vector<int64_t>{0, 10, 20, 30, 40}));
  EXPECT_EQ(sink.All<CheckpointRecord>().back().step, 40);
}

std::vector<int64_t> StepsOf(const RecordingSink& sink, const std::string& key) {
  std::vector<int64_t> steps;
  for (const ProfileRecord& profile : sink.All<ProfileRecord>()) {
    if (profile.key == key) steps.push_back(profile.step);
  }
  return steps;
}

TEST_F(TrainTest, ProbesHaveTheirOwnCadence) {
  setup.config = TinyConfig("peri");
  CHECK_OK(setup.config.Parse("probe.every", "15"));
  Train();
  EXPECT_EQ(StepsOf(sink, "hidden_ma"), (std::vector<int64_t>{0, 15, 30, 40}));
  EXPECT_EQ(StepsOf(sink, "peri_ma_bound"), (std::vector<int64_t>{0, 10, 20, 30, 40}));
  EXPECT_EQ(sink.All<EvalRecord>().size(), 5u);
  EXPECT_EQ(StepsOf(sink, "sensitivity"), std::vector<int64_t>());
}

// The last token of the part is a target only: 24 hold one sequence of 12 and its targets, 25 two.
TEST_F(TrainTest, TheValidationSetIsItsFirstTokens) {
  CHECK_OK(setup.config.Parse("eval.batches", "0"));
  CHECK_OK(setup.config.Parse("train.steps", "1"));
  CHECK_OK(setup.config.Parse("train.warmup", "1"));
  std::vector<double> losses;
  for (const char* tokens : {"13", "24", "25"}) {
    CHECK_OK(setup.config.Parse("data.val_tokens", tokens));
    setup.checkpoint_dir = dir.File(tokens);
    Train();
    losses.push_back(sink.All<EvalRecord>().front().val_loss);
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_NE(losses[1], losses[2]);
}

TEST_F(TrainTest, SensitivityComesWithEvaluationsWhereItIsAskedFor) {
  CHECK_OK(setup.config.Parse("probe.sensitivity", "true"));
  CHECK_OK(setup.config.Parse("probe.every", "15"));
  Train();
  EXPECT_EQ(StepsOf(sink, "sensitivity"), (std::vector<int64_t>{0, 10, 20, 30, 40}));
}

TEST_F(TrainTest, NoProbesWithoutACadence) {
  CHECK_OK(setup.config.Parse("probe.every", "0"));
  Train();
  EXPECT_EQ(StepsOf(sink, "hidden_ma"), std::vector<int64_t>());
}

// What is recorded must not be part of what is trained.
TEST_F(TrainTest, ObservingChangesNoBit) {
  CHECK_OK(setup.config.Parse("probe.every", "0"));
  CHECK_OK(setup.config.Parse("eval.every", "40"));
  const auto blind = Train();
  const auto blind_scalars = sink.All<ScalarsRecord>();
  CHECK_OK(setup.config.Parse("probe.every", "1"));
  CHECK_OK(setup.config.Parse("probe.sensitivity", "true"));
  CHECK_OK(setup.config.Parse("eval.every", "7"));
  CHECK_OK(setup.config.Parse("probe.sensitivity", "true"));
  setup.checkpoint_dir = dir.File("again");
  const auto watched = Train();
  EXPECT_TRUE(at::equal(blind->parameters().values(), watched->parameters().values()));
  EXPECT_TRUE(at::equal(blind->optimizer().v(), watched->optimizer().v()));
  EXPECT_TRUE(blind_scalars == sink.All<ScalarsRecord>());
}

// Probes look at the same eight sequences however many fit at once: 4 + 4, or 3 + 3 + 2.
TEST_F(TrainTest, ProfilesDoNotDependOnTheMicroBatch) {
  CHECK_OK(setup.config.Parse("train.precision", "fp64"));
  CHECK_OK(setup.config.Parse("train.lr", "0"));
  Train();
  const auto whole = sink.All<ProfileRecord>();
  CHECK_OK(setup.config.Parse("train.micro_batch", "3"));
  setup.checkpoint_dir = dir.File("again");
  Train();
  const auto parts = sink.All<ProfileRecord>();
  ASSERT_EQ(whole.size(), parts.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i].key, parts[i].key);
    ASSERT_EQ(whole[i].values.size(), parts[i].values.size());
    for (size_t s = 0; s < whole[i].values.size(); ++s) {
      EXPECT_NEAR(whole[i].values[s], parts[i].values[s], 1e-12) << whole[i].key << " " << s;
    }
  }
}

TEST(ProbedSequences, AreAsManyAsHoldAFixedNumberOfTokens) {
  EXPECT_EQ(ProbeSequences(7), 8);
  EXPECT_EQ(ProbeSequences(256), 8);
  EXPECT_EQ(ProbeSequences(257), 7);
  EXPECT_EQ(ProbeSequences(1024), 2);
  EXPECT_EQ(ProbeSequences(4096), 1);
}

// Micro-batches of unequal size give the step of the whole batch.
TEST_F(TrainTest, MicroBatchesEqualOneBatch) {
  CHECK_OK(setup.config.Parse("train.precision", "fp64"));
  const at::Tensor whole = Train()->parameters().values().clone();
  CHECK_OK(setup.config.Parse("train.micro_batch", "3"));
  setup.checkpoint_dir = dir.File("again");
  const at::Tensor parts = Train()->parameters().values().clone();
  EXPECT_LE((whole - parts).abs().max().item<double>(), 1e-10);
}

// A whole run on the kernels is a whole run on the reference path, to what 40 steps make of the
// arithmetic's rounding.
TEST_F(TrainTest, KernelsAndReferenceTrainAlike) {
  const struct {
    const char *placement, *precision;
    double limit;
  } cases[] = {{"pre", "fp64", 1e-9},        {"post", "fp64", 1e-9}, {"peri", "fp64", 1e-9},
               {"res-post", "fp64", 1e-9},   {"deep", "fp64", 1e-9}, {"geo", "fp64", 1e-9},
               {"geo-affine", "fp64", 1e-9}, {"pre", "fp32", 1e-4},  {"peri", "fp32", 1e-4},
               {"geo", "fp32", 1e-4},        {"pre", "bf16", 0.05},  {"peri", "bf16", 0.05},
               {"geo", "bf16", 0.05}};
  for (const auto& [placement, precision, limit] : cases) {
    setup.config = TinyConfig(placement);
    CHECK_OK(setup.config.Parse("train.precision", precision));
    std::vector<double> losses[2];
    for (const bool composed : {false, true}) {
      setup.composed_norms = composed;
      setup.checkpoint_dir = dir.File(std::string(placement) + (composed ? "-composed" : ""));
      Train();
      for (const auto& step : sink.All<ScalarsRecord>()) {
        losses[composed ? 1 : 0].push_back(step.values[0].second);
      }
    }
    ASSERT_EQ(losses[0].size(), 40u);
    for (size_t i = 0; i < 40; ++i) {
      EXPECT_NEAR(losses[0][i], losses[1][i], limit) << placement << " " << precision << " " << i;
    }
  }
}

// Deviations that fp32 does not know make every weight zero, and zero it stays: in each step 4 · 12
// rows pass 4 sublayers without a direction.
TEST_F(TrainTest, RowsWithoutADirectionAreAnEvent) {
  setup.config = TinyConfig("geo");
  CHECK_OK(setup.config.Parse("init.std", "1e-300"));
  Train();
  const auto events = sink.All<EventRecord>();
  ASSERT_EQ(events.size(), 40u);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].step, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(events[i].kind, "zero_rows");
    EXPECT_EQ(events[i].detail_json, "{\"rows\":192}");
  }
}

TEST_F(TrainTest, ArmsReadTheSameBatches) {
  // Both start at a loss that the (equal) embedding alone decides when branches are off.
  std::vector<double> losses;
  for (const char* placement : {"pre", "peri"}) {
    setup.config = TinyConfig(placement);
    CHECK_OK(setup.config.Parse("residual.dt", "0"));
    Train();
    losses.push_back(FirstLoss());
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_F(TrainTest, StopsAtTheFirstNonFiniteValue) {
  // lr · weight_decay = 100: every step multiplies the matrices by −99.
  CHECK_OK(setup.config.Parse("train.lr", "1000"));
  setup.stop.nonfinite = true;
  Train();
  EXPECT_EQ(exit, TrainerExit::kStoppedByPolicy);
  const auto events = sink.All<EventRecord>();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, "nonfinite");
  EXPECT_EQ(events[1].kind, "stopped");
  EXPECT_EQ(events[1].detail_json, "{\"rule\":\"nonfinite\"}");
  EXPECT_EQ(sink.All<ScalarsRecord>().back().step, events[1].step);
}

TEST_F(TrainTest, TrainsOnThroughNonFiniteValuesWithoutThatRule) {
  // lr · weight_decay = 100: every step multiplies the matrices by −99.
  CHECK_OK(setup.config.Parse("train.lr", "1000"));
  setup.stop.nonfinite = false;
  Train();
  EXPECT_EQ(exit, TrainerExit::kDone);
  EXPECT_EQ(sink.All<ScalarsRecord>().size(), 40u);
  EXPECT_TRUE(std::isnan(sink.All<ScalarsRecord>().back().values[0].second));
  EXPECT_TRUE(std::isnan(sink.All<EvalRecord>().back().val_loss));
}

TEST_F(TrainTest, ChangedDataIsRefused) {
  setup.dataset_sha256 = std::string(64, 'a');
  EXPECT_THAT(TrainLoop::Create(setup, sink, clock),
              IsStatusWith(absl::StatusCode::kFailedPrecondition, "data set tiny has changed"));
}

TEST_F(TrainTest, AModelWithTooFewRowsIsRefused) {
  CHECK_OK(setup.config.Parse("model.vocab", "64"));
  EXPECT_THAT(TrainLoop::Create(setup, sink, clock),
              IsStatus(absl::StatusCode::kInvalidArgument,
                       "data set tiny: its vocabulary of 256 is larger than model.vocab, 64"));
}

// meta.json promises fewer tokens than the file uses: the rows that pad the table are none of them.
TEST_F(TrainTest, ATokenBeyondTheVocabularyIsRefused) {
  CHECK_OK(setup.config.Parse("model.vocab", "512"));
  const std::string meta = setup.data_dir + "/meta.json";
  std::string text = *ReadFile(meta);
  text.replace(text.find("\"vocab\": 256"), 12, "\"vocab\": 100");
  CHECK_OK(WriteFileDurably(meta, text));
  auto loop = TrainLoop::Create(setup, sink, clock);
  ASSERT_THAT(loop, IsOk());
  EXPECT_THAT((*loop)->Run([] { return false; }),
              IsStatusWith(absl::StatusCode::kInvalidArgument, "is beyond the vocabulary of 100"));
}

TEST_F(TrainTest, AValidationSetShorterThanASequenceIsRefused) {
  CHECK_OK(setup.config.Parse("model.seq_len", "500"));
  EXPECT_THAT(TrainLoop::Create(setup, sink, clock),
              IsStatusWith(absl::StatusCode::kInvalidArgument, "too few for one sequence of 500"));
}

// The table's rows drift, the stream stays: the embedding is put on its sphere in every pass.
TEST_F(TrainTest, ASphereModelStaysOnItsRadius) {
  setup.config = TinyConfig("geo");
  CHECK_OK(setup.config.Parse("train.steps", "100"));
  Train();
  int checked = 0;
  for (const ProfileRecord& profile : sink.All<ProfileRecord>()) {
    if (profile.key != "hidden_rms" || profile.step != 100) continue;
    for (const double rms : profile.values) EXPECT_NEAR(rms, 1.0, 1e-5);
    ++checked;
  }
  EXPECT_EQ(checked, 1);
}

class Learns : public testing::TestWithParam<std::string> {};

// Every placement learns a text of one repeated sentence: its loss falls well below the start's.
TEST_P(Learns, ARepeatedSentence) {
  TempDir dir;
  FakeClock clock;
  RecordingSink sink;
  TrainSetup setup;
  setup.config = TinyConfig(GetParam());
  CHECK_OK(setup.config.Parse("train.steps", "120"));
  setup.data_dir = TinyDataset(dir);
  setup.checkpoint_dir = dir.File("c");
  auto loop = TrainLoop::Create(setup, sink, clock);
  ASSERT_THAT(loop, IsOk());
  ASSERT_THAT((*loop)->Run([] { return false; }), IsOk());
  // The branches of rezero start at 0 and must first be let in.
  EXPECT_LT(sink.All<EvalRecord>().back().val_loss, GetParam() == "rezero" ? 2.6 : 2.2);
}

INSTANTIATE_TEST_SUITE_P(All, Learns, EachPlacement(), PlacementTestName);

}  // namespace
}  // namespace normlab::model
