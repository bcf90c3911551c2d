#include "worker/subprocess_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "core/clock.h"
#include "core/subprocess.h"
#include "tests/builders/temp_dir.h"
#include "tests/worker/worker_builders.h"
#include "worker/held_attempt.h"

namespace normlab::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string TrainerPath() {
  char self[4096] = {};
  CHECK_GT(::readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const std::string path(self);
  return path.substr(0, path.rfind('/')) + "/scripted-trainer";
}

class SubprocessExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto attempt = HeldAttempt::Open(dir_.File("r1-1-0000000000001001"), Identity(1), [] {});
    ASSERT_TRUE(attempt.ok()) << attempt.status();
    attempt_ = *attempt;
  }

  ExitRecord Run(const std::string& script) {
    launch_.envelope = EnvelopeFor(1, script);
    launch_.envelope.threads = 3;
    launch_.envelope.checkpoint_dir = dir_.File("checkpoints");
    launch_.work_dir = attempt_->dir();
    SubprocessExecutor executor({.trainer_path = trainer_, .grace = grace_}, SystemClock());
    return executor.Run(launch_, stop_, *attempt_);
  }

  // The same, and wishes it to stop once it has said something.
  ExitRecord RunAndStop(const std::string& script, FailureKind reason, bool now = false) {
    ExitRecord exit;
    std::thread runner([&] { exit = Run(script); });
    while (attempt_->progress().last_step == 0) std::this_thread::yield();
    stop_.Ask(reason, now);
    runner.join();
    return exit;
  }

  std::vector<Record> Records() const { return RecordsIn(attempt_->dir()); }

  TempDir dir_;
  std::string trainer_ = TrainerPath();
  absl::Duration grace_ = absl::Seconds(60);
  Launch launch_;
  StopWish stop_;
  std::shared_ptr<HeldAttempt> attempt_;
};

TEST_F(SubprocessExecutorTest, KeepsEveryRecordAndLine) {
  const ExitRecord exit = Run("done");

  EXPECT_EQ(exit.exit_code, 0);
  EXPECT_EQ(exit.signal, 0);
  EXPECT_EQ(exit.reason, "");
  EXPECT_GT(exit.max_rss_bytes, 100'000);
  EXPECT_GT(exit.wall_s, 0);
  EXPECT_THAT(exit.last_lines, ElementsAre("saved", "printed by a library"));
  const auto hellos = Only<HelloRecord>(Records());
  ASSERT_THAT(hellos, SizeIs(1));
  EXPECT_EQ(hellos[0].threads, 3);
  const auto scalars = Only<ScalarsRecord>(Records());
  ASSERT_THAT(scalars, SizeIs(4));
  EXPECT_EQ(scalars[1].values[0].second, 0.5);
  EXPECT_TRUE(std::isnan(scalars[3].values[0].second));
  EXPECT_THAT(Only<LogLineRecord>(Records()), SizeIs(2));
  EXPECT_EQ(attempt_->progress().last_step, 4);
  // The exit record is left to the caller, who may have more to say.
  EXPECT_THAT(Only<ExitRecord>(Records()), IsEmpty());
}

TEST_F(SubprocessExecutorTest, SaysWhichRuleStoppedIt) {
  const ExitRecord exit = Run("stopped");
  EXPECT_EQ(exit.exit_code, 3);
  EXPECT_EQ(exit.reason, "");
  EXPECT_EQ(attempt_->progress().stopped_by, "nonfinite");
}

TEST_F(SubprocessExecutorTest, CrashKeepsWholeRecordsAndTheSignal) {
  const ExitRecord exit = Run("crash");
  EXPECT_EQ(exit.signal, SIGABRT);
  EXPECT_EQ(FailureOfExit(exit.exit_code, exit.signal), FailureKind::kCodeError);
  EXPECT_THAT(exit.last_lines, ElementsAre("terminate called"));
  EXPECT_EQ(attempt_->progress().last_step, 2);  // the half-written third is none
}

TEST_F(SubprocessExecutorTest, GarbageInThePipeEndsTheAttempt) {
  const ExitRecord exit = Run("garbage");
  EXPECT_EQ(exit.signal, SIGTERM);
  EXPECT_EQ(exit.reason, "code_error");
  EXPECT_THAT(exit.last_lines, ElementsAre(HasSubstr("Failed to keep the trainer's records")));
}

TEST_F(SubprocessExecutorTest, ExitCodeOfBadConfigSpeaksForItself) {
  const ExitRecord exit = Run("bad_config");
  EXPECT_EQ(exit.exit_code, 10);
  EXPECT_EQ(exit.reason, "");
  EXPECT_EQ(FailureOfExit(exit.exit_code, exit.signal), FailureKind::kConfigError);
}

TEST_F(SubprocessExecutorTest, StopLetsItWriteACheckpoint) {
  const ExitRecord exit = RunAndStop("polite", FailureKind::kPreempted);
  EXPECT_EQ(exit.exit_code, 12);
  EXPECT_EQ(exit.reason, "preempted");
  const auto checkpoints = Only<CheckpointRecord>(Records());
  ASSERT_THAT(checkpoints, SizeIs(1));
  EXPECT_EQ(checkpoints[0].step, 5);
}

TEST_F(SubprocessExecutorTest, FirstReasonToStopStays) {
  stop_.Ask(FailureKind::kCancelled);
  stop_.Ask(FailureKind::kPreempted);
  const ExitRecord exit = Run("hang");
  EXPECT_EQ(exit.signal, SIGTERM);
  EXPECT_EQ(exit.reason, "cancelled");
}

TEST_F(SubprocessExecutorTest, StubbornOneIsKilledAfterTheGrace) {
  grace_ = absl::Milliseconds(50);
  const ExitRecord exit = RunAndStop("stubborn", FailureKind::kCancelled);
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.reason, "cancelled");
}

TEST_F(SubprocessExecutorTest, StopNowKillsAtOnce) {
  const ExitRecord exit = RunAndStop("stubborn", FailureKind::kLostWorker, /*now=*/true);
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.reason, "lost_worker");
}

TEST_F(SubprocessExecutorTest, TimeLimitEndsIt) {
  launch_.time_limit = absl::Milliseconds(300);
  const ExitRecord exit = Run("hang");
  EXPECT_EQ(exit.reason, "timeout");
  EXPECT_THAT(exit.last_lines, ElementsAre("Longer than the limit of 300ms."));
}

TEST_F(SubprocessExecutorTest, SilenceEndsIt) {
  launch_.stall_limit = absl::Milliseconds(300);
  const ExitRecord exit = Run("hang");
  EXPECT_EQ(exit.reason, "timeout");
  EXPECT_THAT(exit.last_lines, ElementsAre("Nothing measured for 300ms."));
}

TEST_F(SubprocessExecutorTest, ClosedPipesAreNotTheEnd) {
  launch_.time_limit = absl::Milliseconds(300);
  EXPECT_EQ(Run("closes_pipes").reason, "timeout");
}

TEST_F(SubprocessExecutorTest, LastLinesAreKeptAllLinesAreLogged) {
  const ExitRecord exit = Run("chatty");
  EXPECT_EQ(exit.exit_code, 1);
  ASSERT_THAT(exit.last_lines, SizeIs(200));
  EXPECT_EQ(exit.last_lines.front(), "line 101");
  EXPECT_EQ(exit.last_lines.back(), "line 300");
  EXPECT_THAT(Only<LogLineRecord>(Records()), SizeIs(300));
}

// Whoever the trainer left behind holds the pipes open; the attempt ends all the same.
TEST_F(SubprocessExecutorTest, GrandchildrenDoNotHoldItUp) {
  const ExitRecord exit = Run("orphanage");
  EXPECT_EQ(exit.exit_code, 0);
  EXPECT_LT(exit.wall_s, 8);  // the one left behind lives for ten seconds
  EXPECT_EQ(attempt_->progress().last_step, 2);
}

TEST_F(SubprocessExecutorTest, DividesTheMachine) {
  launch_.gpu = "1";
  EXPECT_THAT(Run("says_environment").last_lines,
              ElementsAre("OMP_NUM_THREADS=3", "MKL_NUM_THREADS=3", "CUDA_VISIBLE_DEVICES=1"));
}

TEST_F(SubprocessExecutorTest, MissingTrainerIsAReason) {
  trainer_ = dir_.File("no-such-trainer");
  const ExitRecord exit = Run("done");
  EXPECT_EQ(exit.reason, "config_error");
  EXPECT_THAT(exit.last_lines, ElementsAre(HasSubstr("Failed to start the trainer")));
}

}  // namespace
}  // namespace normlab::worker
