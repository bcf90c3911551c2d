// 40 steps straight = 13, a stop, and 27 more: bit for bit, for every placement.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/clock.h"
#include "core/dataset.h"
#include "model/checkpoint.h"
#include "model/environment.h"
#include "model/placement_table.h"
#include "model/train_loop.h"
#include "tests/builders/status_matchers.h"
#include "tests/fakes/fake_clock.h"
#include "tests/model/every_placement.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

struct Finished {
  TrainerExit exit;
  RecordingSink sink;
  at::Tensor weights, m, v;
};

// Runs until `stop_after` steps are done (0: to the end).
Finished RunOnce(const TrainSetup& setup, int64_t stop_after) {
  Finished out;
  FakeClock clock;
  auto loop = TrainLoop::Create(setup, out.sink, clock);
  CHECK(loop.ok()) << loop.status().ToString();
  const auto exit =
      (*loop)->Run([&] { return stop_after > 0 && (*loop)->state().step >= stop_after; });
  CHECK(exit.ok()) << exit.status().ToString();
  out.exit = *exit;
  out.weights = (*loop)->parameters().values().clone();
  out.m = (*loop)->optimizer().m().clone();
  out.v = (*loop)->optimizer().v().clone();
  return out;
}

// All that a step, an evaluation or a probe said after step `after`.
std::vector<Record> Numbers(const RecordingSink& sink, int64_t after) {
  std::vector<Record> out;
  for (const Record& record : sink.records) {
    if (const auto* scalars = std::get_if<ScalarsRecord>(&record)) {
      if (scalars->step > after) out.push_back(record);
    } else if (const auto* eval = std::get_if<EvalRecord>(&record)) {
      if (eval->step > after) out.push_back(record);
    } else if (const auto* profile = std::get_if<ProfileRecord>(&record)) {
      if (profile->step > after) out.push_back(record);
    }
  }
  return out;
}

std::vector<int64_t> ProbedSteps(const RecordingSink& sink, const std::string& key) {
  std::vector<int64_t> steps;
  for (const ProfileRecord& profile : sink.All<ProfileRecord>()) {
    if (profile.key == key) steps.push_back(profile.step);
  }
  return steps;
}

void ExpectResumesBitForBit(const RunConfig& config) {
  const TempDir dir;
  TrainSetup setup;
  setup.config = config;
  // The stop falls between two evaluations and between two probes.
  CHECK_OK(setup.config.Parse("probe.every", "5"));
  setup.data_dir = TinyDataset(dir);
  setup.checkpoint_dir = dir.File("straight");
  const Finished straight = RunOnce(setup, 0);
  EXPECT_EQ(straight.exit, TrainerExit::kDone);

  setup.checkpoint_dir = dir.File("stopped");
  EXPECT_EQ(RunOnce(setup, 13).exit, TrainerExit::kPreempted);
  setup.resume_from = ListCheckpoints(setup.checkpoint_dir);
  ASSERT_EQ(setup.resume_from, std::vector<std::string>{dir.File("stopped/13")});
  const Finished resumed = RunOnce(setup, 0);
  EXPECT_EQ(resumed.exit, TrainerExit::kDone);

  EXPECT_EQ(resumed.sink.All<HelloRecord>().front().resumed_from_step, 13);
  EXPECT_TRUE(at::equal(straight.weights, resumed.weights));
  EXPECT_TRUE(at::equal(straight.m, resumed.m));
  EXPECT_TRUE(at::equal(straight.v, resumed.v));
  EXPECT_TRUE(Numbers(straight.sink, 13) == Numbers(resumed.sink, 13));
  EXPECT_EQ(resumed.sink.All<ScalarsRecord>().size(), 27u);
  EXPECT_EQ(ProbedSteps(resumed.sink, "hidden_ma"), (std::vector<int64_t>{15, 20, 25, 30, 35, 40}));
  EXPECT_EQ(ProbedSteps(resumed.sink, "stream_grad"), ProbedSteps(resumed.sink, "hidden_ma"));
}

class Resume : public testing::TestWithParam<std::string> {};

TEST_P(Resume, IsBitForBit) { ExpectResumesBitForBit(TinyConfig(GetParam())); }

TEST_P(Resume, IsBitForBitWithAccumulation) {
  RunConfig config = TinyConfig(GetParam());
  CHECK_OK(config.Parse("train.micro_batch", "3"));  // 3 + 1 sequences
  ExpectResumesBitForBit(config);
}

TEST_P(Resume, IsBitForBitInBf16) {
  RunConfig config = TinyConfig(GetParam());
  CHECK_OK(config.Parse("train.precision", "bf16"));
  ExpectResumesBitForBit(config);
}

INSTANTIATE_TEST_SUITE_P(All, Resume, EachPlacement(), PlacementTestName);

TEST(ResumeOptions, SensitivityIsBitForBit) {
  RunConfig config = TinyConfig("geo");
  CHECK_OK(config.Parse("probe.sensitivity", "true"));
  CHECK_OK(config.Parse("eval.every", "20"));
  ExpectResumesBitForBit(config);
}

TEST(ResumeOptions, DoublePrecisionIsBitForBit) {
  RunConfig config = TinyConfig("geo");
  CHECK_OK(config.Parse("train.precision", "fp64"));
  CHECK_OK(config.Parse("train.schedule", "wsd"));
  ExpectResumesBitForBit(config);
}

// A damaged checkpoint costs the steps since the one before, not the run.
TEST(ResumeOptions, FallsBackToTheCheckpointBefore) {
  const TempDir dir;
  TrainSetup setup;
  setup.config = TinyConfig("pre");
  CHECK_OK(setup.config.Parse("checkpoint.every", "10"));
  setup.data_dir = TinyDataset(dir);
  setup.checkpoint_dir = dir.File("c");
  const Finished straight = RunOnce(setup, 0);
  const std::string damaged = dir.File("c/40/weights.safetensors");
  std::string bytes = *ReadFile(damaged);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  CHECK_OK(WriteFileDurably(damaged, bytes));
  setup.resume_from = ListCheckpoints(setup.checkpoint_dir);
  const Finished resumed = RunOnce(setup, 0);
  EXPECT_EQ(resumed.sink.All<HelloRecord>().front().resumed_from_step, 30);
  EXPECT_TRUE(at::equal(straight.weights, resumed.weights));
}

// The first value that is not finite is an event of its step, and not once more after a resume.
TEST(ResumeOptions, TheFirstNonfiniteValueStaysTheFirst) {
  const TempDir dir;
  TrainSetup setup;
  setup.config = TinyConfig("pre");
  CHECK_OK(setup.config.Parse("train.lr", "1000"));
  setup.stop.nonfinite = false;
  setup.data_dir = TinyDataset(dir);
  setup.checkpoint_dir = dir.File("c");
  const Finished stopped = RunOnce(setup, 30);
  const auto events = stopped.sink.All<EventRecord>();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "nonfinite");
  for (const ScalarsRecord& scalars : stopped.sink.All<ScalarsRecord>()) {
    const bool finite =
        std::isfinite(scalars.values[0].second) && std::isfinite(scalars.values[1].second);
    EXPECT_EQ(finite, scalars.step < events[0].step) << scalars.step;
  }
  setup.resume_from = ListCheckpoints(setup.checkpoint_dir);
  const Finished resumed = RunOnce(setup, 0);
  EXPECT_EQ(resumed.sink.All<ScalarsRecord>().size(), 10u);
  EXPECT_TRUE(resumed.sink.All<EventRecord>().empty());
}

double LastClipShare(const Finished& run) {
  const auto& [key, share] = run.sink.All<ScalarsRecord>().back().values.back();
  EXPECT_EQ(key, "clip_share");
  return share;
}

// A resume counts the steps before it as they were counted: without clipping none, and where the
// norm is not a number the step that PyTorch scales by that.
TEST(ResumeOptions, TheShareOfClippedStepsGoesOn) {
  for (const auto& [key, text] : {std::pair{"train.clip", "0"}, {"train.lr", "1000"}}) {
    const TempDir dir;
    TrainSetup setup;
    setup.config = TinyConfig("pre");
    CHECK_OK(setup.config.Parse(key, text));
    setup.stop.nonfinite = false;
    setup.data_dir = TinyDataset(dir);
    setup.checkpoint_dir = dir.File("straight");
    const double straight = LastClipShare(RunOnce(setup, 0));
    setup.checkpoint_dir = dir.File("stopped");
    RunOnce(setup, 30);
    setup.resume_from = ListCheckpoints(setup.checkpoint_dir);
    EXPECT_EQ(LastClipShare(RunOnce(setup, 0)), straight) << key;
  }
}

// A checkpoint of 70 steps with these losses, then the rest under a rule about spikes.
TrainerExit GoOnAfter(const std::vector<double>& losses) {
  const TempDir dir;
  TrainSetup setup;
  setup.config = TinyConfig("pre");
  CHECK_OK(setup.config.Parse("train.steps", "80"));
  setup.data_dir = TinyDataset(dir);
  setup.checkpoint_dir = dir.File("c");
  setup.stop = {.nonfinite = false, .spikes_per_1k = 0.5, .after_step = 0};
  RecordingSink sink;
  FakeClock clock;
  const auto loop = TrainLoop::Create(setup, sink, clock);
  CHECK(loop.ok()) << loop.status().ToString();
  const std::string sha256 = ReadDatasetMeta(setup.data_dir)->sha256;
  const CheckpointOrigin origin = {setup.config.Identity(sha256), "{}", InstructionSet(), 1};
  const TrainingState state = {70, losses, std::vector<double>(70, 1.0)};
  CHECK_OK(WriteCheckpoint(setup.checkpoint_dir, origin, state, (*loop)->parameters(),
                           (*loop)->optimizer())
               .status());
  setup.resume_from = ListCheckpoints(setup.checkpoint_dir);
  return RunOnce(setup, 0).exit;
}

TEST(ResumeOptions, StopRulesLookBackBehindTheResume) {
  std::vector<double> losses;
  for (int step = 1; step <= 70; ++step) losses.push_back(5.6 + 0.05 * std::sin(step));
  EXPECT_EQ(GoOnAfter(losses), TrainerExit::kDone);
  losses[62] = 30;
  EXPECT_EQ(GoOnAfter(losses), TrainerExit::kStoppedByPolicy);
}

// At a width where the libraries do share out the work, with two shards a step and an evaluation:
// one after the other on one thread, side by side on two, and one after the other on all of five.
TEST(Threads, OneTwoAndFiveGiveTheSameBits) {
  const TempDir dir;
  TrainSetup setup;
  setup.config = TinyConfig("peri");
  for (const auto& [key, text] : {std::pair{"model.width", "128"},
                                  {"model.seq_len", "128"},
                                  {"train.batch", "9"},
                                  {"probe.every", "2"},
                                  {"train.steps", "5"}}) {
    CHECK_OK(setup.config.Parse(key, text));
  }
  setup.data_dir = TinyDataset(dir, /*sentences=*/800);
  std::vector<Finished> runs;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    setup.threads = threads;
    setup.checkpoint_dir = dir.File(std::to_string(threads));
    runs.push_back(RunOnce(setup, 0));
  }
  at::set_num_threads(1);
  for (const size_t other : {1, 2}) {
    EXPECT_TRUE(at::equal(runs[0].weights, runs[other].weights));
    EXPECT_TRUE(at::equal(runs[0].v, runs[other].v));
    EXPECT_TRUE(Numbers(runs[0].sink, 0) == Numbers(runs[other].sink, 0));
  }
}

// On other threads or another instruction set the numbers go on, and the record says so.
TEST(ResumeOptions, ElsewhereIsMarked) {
  const TempDir dir;
  TrainSetup setup;
  setup.config = TinyConfig("pre");
  setup.data_dir = TinyDataset(dir);
  setup.checkpoint_dir = dir.File("c");
  setup.threads = 1;
  EXPECT_TRUE(RunOnce(setup, 13).sink.All<EventRecord>().empty());
  setup.resume_from = ListCheckpoints(setup.checkpoint_dir);
  setup.checkpoint_dir = dir.File("same");
  EXPECT_TRUE(RunOnce(setup, 0).sink.All<EventRecord>().empty());
  setup.threads = 2;
  setup.checkpoint_dir = dir.File("other");
  const Finished elsewhere = RunOnce(setup, 0);
  ASSERT_TRUE(std::holds_alternative<EventRecord>(elsewhere.sink.records[1]));
  const EventRecord& event = std::get<EventRecord>(elsewhere.sink.records[1]);
  EXPECT_EQ(event.kind, "not_bit_exact");
  EXPECT_EQ(event.step, 14);
  EXPECT_NE(event.detail_json.find("\"threads\":1"), std::string::npos) << event.detail_json;
  EXPECT_NE(event.detail_json.find("\"threads\":2"), std::string::npos) << event.detail_json;
}

}  // namespace
}  // namespace normlab::model
