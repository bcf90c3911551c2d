// Every placement learns to copy, at the learning rate that it gets when nobody names one.

#include <gtest/gtest.h>

#include <cmath>

#include "core/little_endian.h"
#include "core/random.h"
#include "model/placement_table.h"
#include "tests/builders/status_matchers.h"
#include "tests/fakes/fake_clock.h"
#include "tests/model/every_placement.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

constexpr int64_t kVocab = 16;
constexpr int64_t kLength = 16;
constexpr int64_t kPeriod = 4;

// Sequences of four random tokens, four times over: what comes next stands four places back.
std::string Repetitions(int64_t sequences, uint64_t seed) {
  const auto random = SeededRandom(seed);
  std::string bytes;
  for (int64_t i = 0; i < sequences; ++i) {
    std::vector<uint16_t> period;
    for (int64_t j = 0; j < kPeriod; ++j) {
      period.push_back(static_cast<uint16_t>(random->Next() % kVocab));
    }
    for (int64_t j = 0; j < kLength; ++j) PutLittleEndian(bytes, period[j % kPeriod]);
  }
  return bytes;
}

std::string CopyTask(const TempDir& dir) {
  CHECK_OK(WriteFileDurably(dir.File("train.bin"), Repetitions(4000, 1)));
  CHECK_OK(WriteFileDurably(dir.File("val.bin"), Repetitions(64, 2)));
  PrepareOptions options;
  options.name = "copy";
  options.datasets_dir = dir.path();
  options.files = {dir.File("train.bin")};
  options.val_files = {dir.File("val.bin")};
  options.vocab = kVocab;
  CHECK_OK(PrepareDataset(options).status());
  return dir.File("copy");
}

class LearnsToCopy : public testing::TestWithParam<std::string> {};

TEST_P(LearnsToCopy, AtItsDefaultLearningRate) {
  const TempDir dir;
  FakeClock clock;
  RecordingSink sink;
  TrainSetup setup;
  const std::pair<const char*, const char*> settings[] = {
      {"model.layers", "2"}, {"model.width", "64"},  {"model.seq_len", "16"},
      {"train.batch", "16"}, {"train.steps", "300"}, {"eval.every", "50"}};
  for (const auto& [key, text] : settings) CHECK_OK(setup.config.Parse(key, text));
  CHECK_OK(setup.config.Parse("norm.placement", GetParam()));
  setup.data_dir = CopyTask(dir);
  setup.checkpoint_dir = dir.File("c");
  auto loop = TrainLoop::Create(setup, sink, clock);
  ASSERT_THAT(loop, IsOk());
  ASSERT_THAT((*loop)->Run([] { return false; }), IsOk());
  // Four of sixteen targets are random, and nothing can know them: a quarter of what guessing costs
  // stays. Whoever is below a half looks four tokens back.
  const double guessing = std::log(static_cast<double>(kVocab));
  // The branches of rezero start at 0, and have just been let in by then.
  EXPECT_LT(sink.All<EvalRecord>().back().val_loss,
            GetParam() == "rezero" ? 0.98 * guessing : 0.5 * guessing);
}

INSTANTIATE_TEST_SUITE_P(All, LearnsToCopy, EachPlacement(), PlacementTestName);

}  // namespace
}  // namespace normlab::model
