// The memory that a run is expected to need, and how much there is.

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/outcome.h"
#include "model/memory_estimate.h"
#include "model/memory_limit.h"
#include "model/shards.h"
#include "tests/builders/status_matchers.h"
#include "tests/model/tiny_run.h"
#include "tests/model/trainer_process.h"

namespace normlab::model {
namespace {

constexpr int64_t kMiB = 1 << 20;

RunConfig SizedConfig(const std::string& placement, const char* precision, const char* batch) {
  RunConfig config = TinyConfig(placement);
  for (const auto& [key, text] : {std::pair{"model.layers", "4"},
                                  {"model.width", "128"},
                                  {"model.heads", "4"},
                                  {"model.seq_len", "128"},
                                  {"train.steps", "2"},
                                  {"train.warmup", "1"},
                                  {"train.precision", precision},
                                  {"train.batch", batch}}) {
    CHECK_OK(config.Parse(key, text));
  }
  return config;
}

// Of a run on `texts` times the text of the tiny data set. The allocator gives back at once what is
// freed: what it would keep for itself between two passes is not the run's.
int64_t MeasuredPeak(const RunConfig& config, int texts = 1) {
  const TempDir dir;
  Envelope envelope = EnvelopeFor(config, dir);
  if (texts > 1) {
    std::string text;
    for (int i = 0; i < texts; ++i) text += *ReadFile(dir.File("tiny.txt"));
    envelope.dataset.name = "long";
    envelope.dataset.dir = TextDataset(dir, envelope.dataset.name, text);
  }
  TrainerProcess trainer(envelope, {{"MALLOC_MMAP_THRESHOLD_", "131072"}});
  while (trainer.Next().has_value()) {
  }
  const ExitInfo exit = trainer.Wait();
  EXPECT_EQ(exit.exit_code, 0) << trainer.Errors();
  return exit.max_rss_bytes;
}

// What 12 more sequences at once add to the peak of a real trainer, in each of 16 shards, against
// what they were expected to add: within a quarter. (The difference, since the libraries themselves
// take some 200 MiB.)
TEST(MemoryEstimate, IsWithinAQuarterOfTheMeasuredPeak) {
  const struct {
    const char *placement, *precision;
  } cases[] = {{"pre", "fp32"}, {"peri", "fp32"}, {"geo", "fp64"}, {"post", "bf16"}};
  for (const auto& c : cases) {
    const RunConfig small = SizedConfig(c.placement, c.precision, "64");
    const RunConfig large = SizedConfig(c.placement, c.precision, "256");
    const auto expected = [](const RunConfig& config) {
      const ModelSpec spec = MakeModelSpec(config, 256);
      const int64_t batch = config.Int("train.batch");
      const ShardPlan plan = PlanShards(spec, batch, /*threads=*/1, at::kCPU);
      return EstimateMemory(spec, {plan.SequencesAtOnce(batch), plan.shards, ProbedBy(config)})
          .Total();
    };
    const double measured = static_cast<double>(MeasuredPeak(large) - MeasuredPeak(small));
    const double reckoned = static_cast<double>(expected(large) - expected(small));
    EXPECT_NEAR(measured / reckoned, 1.0, 0.25)
        << c.placement << " " << c.precision << ": measured " << measured / kMiB
        << " MiB, reckoned " << reckoned / kMiB;
  }
}

TEST(MemoryEstimate, CountsTheWeights) {
  RunConfig config;
  CHECK_OK(config.Parse("model.preset", "gpt2-124m"));
  CHECK_OK(config.Parse("model.seq_len", "1024"));
  // 124,373,760 parameters: value, gradient and two moments of four bytes each.
  EXPECT_EQ(EstimateMemory(MakeModelSpec(config, 50304), {}).weights, int64_t{124373760} * 16);
  CHECK_OK(config.Parse("train.precision", "bf16"));
  EXPECT_EQ(EstimateMemory(MakeModelSpec(config, 50304), {}).weights, int64_t{124373760} * 18);
}

// What is reckoned with before anything is allocated is what is allocated then.
TEST(MemoryEstimate, KnowsTheSizeOfTheBuffers) {
  for (const char* precision : {"fp32", "fp64", "bf16"}) {
    const ModelSpec spec = TinySpec("geo-affine", precision);
    EXPECT_EQ(ParameterCount(spec) * spec.StreamBytes(),
              static_cast<int64_t>(Parameters(spec).grads().nbytes()))
        << precision;
  }
}

TEST(MemoryEstimate, RefusesWithTheNumbersAndACure) {
  const ModelSpec spec = MakeModelSpec(SizedConfig("pre", "fp32", "64"), 256);
  const auto total = [&spec](int64_t micro_batch) {
    return EstimateMemory(spec, {micro_batch}).Total();
  };
  const auto check = [&spec](int64_t limit) { return CheckMemory(spec, {64}, limit); };
  EXPECT_THAT(check(total(64)), IsOk());
  EXPECT_THAT(check(total(31)),
              IsStatusWith(absl::StatusCode::kResourceExhausted, "train.micro_batch 31 would fit"));
  EXPECT_THAT(check(kMiB), IsStatusWith(absl::StatusCode::kResourceExhausted,
                                        "no train.micro_batch makes it fit"));
}

RunConfig ManyHeads(const char* heads, const char* sensitivity) {
  RunConfig config = SizedConfig("pre", "fp32", "1");
  for (const auto& [key, text] : {std::pair{"model.layers", "1"},
                                  {"model.width", "256"},
                                  {"model.seq_len", "512"},
                                  {"model.heads", heads},
                                  {"train.steps", "1"},
                                  {"probe.sensitivity", sensitivity}}) {
    CHECK_OK(config.Parse(key, text));
  }
  return config;
}

// A probe of attention keeps every position against every other, by head: what 60 more heads add
// to the peak of a real trainer with one sequence a step.
TEST(MemoryEstimate, OfProbesIsWithinAQuarterOfTheMeasuredPeak) {
  for (const char* sensitivity : {"false", "true"}) {
    const RunConfig few = ManyHeads("4", sensitivity), many = ManyHeads("64", sensitivity);
    const auto expected = [](const RunConfig& config) {
      return EstimateMemory(MakeModelSpec(config, 256), {1, 1, ProbedBy(config)}).probes;
    };
    const double measured = static_cast<double>(MeasuredPeak(many, 20) - MeasuredPeak(few, 20));
    const double reckoned = static_cast<double>(expected(many) - expected(few));
    EXPECT_NEAR(measured / reckoned, 1.0, 0.25)
        << sensitivity << ": measured " << measured / kMiB << " MiB, reckoned " << reckoned / kMiB;
  }
}

TEST(MemoryEstimate, NamesTheProbesWhereTheyAreTheCause) {
  RunConfig config = TinyConfig("pre");
  CHECK_OK(config.Parse("model.seq_len", "8192"));
  const ModelSpec spec = MakeModelSpec(config, 256);
  const int64_t limit = EstimateMemory(spec, {}).Total();
  EXPECT_THAT(CheckMemory(spec, {}, limit), IsOk());
  for (const Probed probed : {Probed::kProfiles, Probed::kSensitivity}) {
    EXPECT_THAT(CheckMemory(spec, {1, 1, probed}, limit),
                IsStatusWith(absl::StatusCode::kResourceExhausted, "probe.every 0"));
  }
}

// A model beyond any machine: refused before its weights are allocated, exit 11, one line.
TEST(MemoryEstimate, ARunThatCannotFitEndsBeforeItStarts) {
  const TempDir dir;
  RunConfig config = TinyConfig("pre");
  CHECK_OK(config.Parse("model.width", "65536"));
  CHECK_OK(config.Parse("model.layers", "1024"));
  TrainerProcess trainer(EnvelopeFor(config, dir));
  const ExitInfo exit = trainer.Wait();
  EXPECT_EQ(exit.exit_code, static_cast<int>(TrainerExit::kOutOfMemory));
  EXPECT_NE(trainer.Errors().find("memory: this run needs about"), std::string::npos)
      << trainer.Errors();
  EXPECT_LT(exit.max_rss_bytes, 1024 * kMiB);
}

void Write(const TempDir& dir, const std::string& path, const std::string& text) {
  const std::string file = dir.File(path);
  CHECK_OK(MakeDirs(file.substr(0, file.find_last_of('/'))));
  CHECK_OK(WriteFileDurably(file, text));
}

TEST(MemoryLimit, IsTheLowestOfMachineAndGroups) {
  const TempDir dir;
  Write(dir, "proc/meminfo", "MemTotal:       2048 kB\nMemFree:  1 kB\n");
  EXPECT_EQ(MemoryLimitBytes(dir.path()), 2048 * 1024);
  Write(dir, "proc/self/cgroup", "0::/a/b\n");
  Write(dir, "sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(MemoryLimitBytes(dir.path()), 2048 * 1024);
  Write(dir, "sys/fs/cgroup/a/memory.max", "1000000\n");  // a group binds those inside it
  EXPECT_EQ(MemoryLimitBytes(dir.path()), 1000000);
  Write(dir, "proc/self/cgroup", "4:memory:/job\n2:cpu:/\n");
  Write(dir, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "500000\n");
  EXPECT_EQ(MemoryLimitBytes(dir.path()), 500000);
}

TEST(MemoryLimit, OfThisMachineIsANumber) {
  EXPECT_GT(MemoryLimitBytes(), 64 * kMiB);
  EXPECT_LT(MemoryLimitBytes(), int64_t{1} << 50);
}

}  // namespace
}  // namespace normlab::model
