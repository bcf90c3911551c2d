// Signals, kills and damage, against the real program.

#include <gtest/gtest.h>
#include <signal.h>

#include "core/dataset.h"
#include "core/file.h"
#include "core/outcome.h"
#include "model/checkpoint.h"
#include "tests/builders/status_matchers.h"
#include "tests/model/tiny_run.h"
#include "tests/model/trainer_process.h"

namespace normlab::model {
namespace {

struct TrainerProcessTest : testing::Test {
  void Set(const char* key, const char* text) { CHECK_OK(envelope.config.Parse(key, text)); }
  void ResumeFromNewest() {
    const auto dirs = ListCheckpoints(envelope.checkpoint_dir);
    ASSERT_FALSE(dirs.empty());
    const int64_t step = std::stoll(dirs.front().substr(envelope.checkpoint_dir.size() + 1));
    envelope.resume = {dirs.front(), step, AttemptNumber(1)};
  }

  TempDir dir;
  Envelope envelope = EnvelopeFor(TinyConfig("pre"), dir);
};

bool AtStepTwo(const ScalarsRecord& scalars) { return scalars.step >= 2; }

// SIGTERM and SIGUSR1: a checkpoint, then exit 12, within two steps.
TEST_F(TrainerProcessTest, EndsWithACheckpointWithinTwoStepsOfASignal) {
  Set("train.steps", "1000000");
  for (const int signal : {SIGTERM, SIGUSR1}) {
    TrainerProcess trainer(envelope);
    trainer.Await<ScalarsRecord>(AtStepTwo);
    const int64_t step = trainer.HaltAndReadStep();
    trainer.Signal(signal);
    trainer.Signal(SIGCONT);
    std::optional<Record> last;
    while (std::optional<Record> record = trainer.Next()) last = std::move(record);
    const ExitInfo exit = trainer.Wait();
    EXPECT_EQ(exit.signal, 0);
    EXPECT_EQ(exit.exit_code, static_cast<int>(TrainerExit::kPreempted)) << trainer.Errors();
    EXPECT_LE(trainer.last_step(), step + 2);
    ASSERT_TRUE(last.has_value() && std::holds_alternative<CheckpointRecord>(*last));
    EXPECT_EQ(std::get<CheckpointRecord>(*last).step, trainer.last_step());
    EXPECT_EQ(ListCheckpoints(envelope.checkpoint_dir).front(),
              JoinPath(envelope.checkpoint_dir, std::to_string(trainer.last_step())));
    CHECK_OK(RemoveAll(envelope.checkpoint_dir));
  }
}

// Killed at whatever instant, three times, while it writes a checkpoint at every step: each time
// the newest one is whole, none that was registered is lost, and the end is that of a run in peace.
TEST_F(TrainerProcessTest, KilledAnywhereItEndsWithTheSameWeights) {
  Set("checkpoint.every", "1");
  const std::string peace = dir.File("peace");
  envelope.checkpoint_dir = peace;
  TrainerProcess undisturbed(envelope);
  EXPECT_EQ(undisturbed.Wait().exit_code, 0) << undisturbed.Errors();

  envelope.checkpoint_dir = dir.File("killed");
  for (const int64_t registered : {5, 12, 23}) {
    TrainerProcess trainer(envelope);
    trainer.Await<CheckpointRecord>([&](const auto& c) { return c.step >= registered; });
    trainer.Signal(SIGKILL);
    EXPECT_EQ(trainer.Wait().signal, SIGKILL);
    ResumeFromNewest();
  }
  TrainerProcess last(envelope);
  const auto hello = last.Await<HelloRecord>([](const auto&) { return true; });
  EXPECT_GE(hello.resumed_from_step, 23);
  EXPECT_EQ(last.Wait().exit_code, 0) << last.Errors();
  for (const char* file : {"weights.safetensors", "optimizer.safetensors", "history.safetensors"}) {
    const std::string name = JoinPath("40", file);
    EXPECT_EQ(*ReadFile(JoinPath(envelope.checkpoint_dir, name)), *ReadFile(JoinPath(peace, name)))
        << name;
  }
}

// A damaged checkpoint is told by its checksum, said, and the one before is used.
TEST_F(TrainerProcessTest, SaysThatACheckpointIsDamagedAndTakesTheOneBefore) {
  Set("checkpoint.every", "20");
  TrainerProcess first(envelope);
  EXPECT_EQ(first.Wait().exit_code, 0) << first.Errors();
  const std::string file = JoinPath(envelope.checkpoint_dir, "40/weights.safetensors");
  std::string bytes = *ReadFile(file);
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
  CHECK_OK(WriteFileDurably(file, bytes));
  ResumeFromNewest();
  TrainerProcess second(envelope);
  const auto hello = second.Await<HelloRecord>([](const auto&) { return true; });
  EXPECT_EQ(hello.resumed_from_step, 20);
  EXPECT_EQ(second.Wait().exit_code, 0);
  EXPECT_NE(second.Errors().find("weights.safetensors is damaged"), std::string::npos)
      << second.Errors();
}

// All that the newest attempt left is lost, damaged or gone: the line before it, as far as it goes,
// serves.
TEST_F(TrainerProcessTest, TakesAnAncestorsCheckpointWhenItsParentsAreLost) {
  Set("checkpoint.every", "10");
  Set("checkpoint.keep", "4");
  const std::string first = dir.File("r37/1"), second = dir.File("r37/2");
  envelope.checkpoint_dir = first;
  TrainerProcess one(envelope);
  EXPECT_EQ(one.Wait().exit_code, 0) << one.Errors();

  envelope.checkpoint_dir = second;
  envelope.resume = {JoinPath(first, "20"), 20, AttemptNumber(1)};
  TrainerProcess two(envelope);
  EXPECT_EQ(two.Wait().exit_code, 0) << two.Errors();
  CHECK_OK(WriteFileDurably(JoinPath(second, "30/state.json"), "{"));

  // The first attempt's 30 and 40 are not of this line: the second left it at 20.
  envelope.resume = {JoinPath(second, "30"), 30, AttemptNumber(2), {{AttemptNumber(1), 20}}};
  CHECK_OK(RemoveAll(JoinPath(second, "40")));
  for (const bool gone : {false, true}) {
    if (gone) CHECK_OK(RemoveAll(JoinPath(second, "30")));
    envelope.checkpoint_dir = dir.File(gone ? "r37/4" : "r37/3");
    TrainerProcess three(envelope);
    const auto hello = three.Await<HelloRecord>([](const auto&) { return true; });
    EXPECT_EQ(hello.resumed_from_step, 20);
    EXPECT_EQ(three.Wait().exit_code, 0);
    EXPECT_NE(three.Errors().find("checkpoint not usable"), std::string::npos) << three.Errors();
    EXPECT_EQ(*ReadFile(JoinPath(envelope.checkpoint_dir, "40/weights.safetensors")),
              *ReadFile(JoinPath(first, "40/weights.safetensors")));
  }
}

// With nothing left to resume from, a worker's run begins again instead of being lost.
TEST_F(TrainerProcessTest, StartsOverWhenEveryCheckpointIsDamaged) {
  Set("train.steps", "5");
  TrainerProcess first(envelope);
  EXPECT_EQ(first.Wait().exit_code, 0) << first.Errors();
  ResumeFromNewest();
  CHECK_OK(WriteFileDurably(JoinPath(envelope.checkpoint_dir, "5/state.json"), "{"));
  TrainerProcess second(envelope);
  const auto hello = second.Await<HelloRecord>([](const auto&) { return true; });
  EXPECT_EQ(hello.resumed_from_step, -1);
  EXPECT_EQ(second.Wait().exit_code, 0);
  EXPECT_NE(second.Errors().find("starting again from step 0"), std::string::npos);
}

TEST_F(TrainerProcessTest, AnUnknownDeviceIsOneLine) {
  envelope.device = "cuda:99";
  TrainerProcess trainer(envelope);
  EXPECT_EQ(trainer.Wait().exit_code, static_cast<int>(TrainerExit::kDeviceLost));
  EXPECT_NE(trainer.Errors().find("device cuda:99: "), std::string::npos) << trainer.Errors();
  envelope.device = "gpu";
  TrainerProcess other(envelope);
  EXPECT_EQ(other.Wait().exit_code, static_cast<int>(TrainerExit::kBadConfig));
}

}  // namespace
}  // namespace normlab::model
