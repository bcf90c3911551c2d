#include "server/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <set>

#include "core/version.h"
#include "tests/server/scheduler/scheduler_lab.h"

namespace normlab::server {
namespace {

using Lab = SchedulerLab;

TEST(Scheduler, RunsASweepToItsEnd) {
  Lab lab;
  lab.Submit(3);
  WorkerReport report = Lab::Report("w", 2);
  EXPECT_EQ(lab.Fetch(report).size(), 2u);
  report.held = {Lab::Held(lab.run(1)), Lab::Held(lab.run(2))};
  lab.Hello(1);
  lab.Hello(2);
  // Its log is complete on the worker: the slot is free, the run is not done yet.
  report.held[0].finished = true;
  const auto wanted = lab.Fetch(report);
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[1].run, RunId(3));
  EXPECT_EQ(lab.run(1).state, RunState::kRunning);
  lab.Exit(1, FailureKind::kNone, 300);
  EXPECT_EQ(lab.run(1).state, RunState::kDone);
  EXPECT_EQ(lab.run(1).outcome, Outcome::kHealthy);
  report.held.push_back(Lab::Held(lab.run(3)));
  const auto orders = lab.Call(report);
  EXPECT_EQ(orders->confirmed, std::vector<LeaseToken>{lab.run(1).attempts[0].token});
}

TEST(Scheduler, SendsAnUnlistedAttemptAgainWithTheSameToken) {
  Lab lab;
  lab.Submit(1);
  const WorkerReport report = Lab::Report("w");
  lab.Fetch(report);
  const LeaseToken token = lab.run(1).attempts[0].token;
  const auto again = lab.Fetch(report);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(again[0].send_envelope);
  EXPECT_EQ(lab.run(1).attempts.size(), 1u);
  EXPECT_EQ(lab.run(1).attempts[0].token, token);
}

TEST(Scheduler, AWorkerThatNeverTakesItsAttemptLosesIt) {
  Lab lab;
  lab.Submit(1);
  for (int i = 0; i < 130; ++i) {
    lab.Fetch(Lab::Report("w"));
    lab.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(lab.run(1).attempts.front().state, AttemptState::kVoid);
}

TEST(Scheduler, AnExpiredLeaseIsVoidAndLateNewsChangeNothing) {
  Lab lab;
  lab.Submit(1);
  lab.Fetch(Lab::Report("a"));
  lab.Hello(1);
  const AttemptNews late{RunId(1), AttemptNumber(1), lab.run(1).attempts[0].token, ExitNews{}};
  lab.Advance(absl::Seconds(119));
  EXPECT_EQ(lab.run(1).state, RunState::kRunning);
  lab.Advance(absl::Seconds(1));
  EXPECT_EQ(lab.run(1).state, RunState::kQueued);
  EXPECT_EQ(lab.run(1).reason, "lost_worker");
  lab.Fetch(Lab::Report("b"));
  ASSERT_EQ(lab.run(1).attempts.size(), 2u);
  // The old worker comes back and is told to end it.
  WorkerReport back = Lab::Report("a");
  back.held = {{RunId(1), AttemptNumber(1), lab.run(1).attempts[0].token, false, 0, 0}};
  const auto orders = lab.Call(back);
  ASSERT_EQ(orders->stop.size(), 1u);
  EXPECT_EQ(orders->stop[0].reason, FailureKind::kLostWorker);
  lab.News(late);
  EXPECT_EQ(lab.run(1).state, RunState::kRunning);
  EXPECT_TRUE(lab.run(1).attempts[0].log_complete);
  // Its log has ended, whatever an older report of it says.
  const auto later = lab.Call(back);
  EXPECT_TRUE(later->stop.empty());
  EXPECT_EQ(later->confirmed, std::vector<LeaseToken>{lab.run(1).attempts[0].token});
}

TEST(Scheduler, ANewIncarnationVoidsWhatItDoesNotList) {
  Lab lab;
  lab.Submit(2);
  WorkerReport report = Lab::Report("w", 2);
  lab.Fetch(report);
  WorkerReport restarted = report;
  restarted.incarnation = Incarnation("start-2");
  restarted.held = {Lab::Held(lab.run(1), /*finished=*/true)};
  lab.Fetch(restarted);
  EXPECT_EQ(lab.run(1).attempts[0].state, AttemptState::kRunning);
  EXPECT_EQ(lab.run(2).attempts[0].state, AttemptState::kVoid);
  // The older start may not call any more.
  EXPECT_TRUE(absl::IsAborted(lab.Call(report).status()));
}

TEST(Scheduler, ResumesTheNewestCheckpointThatTheWorkerReaches) {
  Lab lab;
  lab.Submit(1);
  lab.Fetch(Lab::Report("a"));
  lab.Hello(1);
  lab.Checkpointed(1, 100);
  lab.Checkpointed(1, 200);
  lab.Exit(1, FailureKind::kPreempted, 230);
  // The worker that has the checkpoint lives: another one does not get the run yet.
  EXPECT_TRUE(lab.Fetch(Lab::Report("b")).empty());
  lab.Fetch(Lab::Report("a"));
  const Attempt& second = lab.run(1).attempts.back();
  EXPECT_EQ(second.parent, AttemptNumber(1));
  EXPECT_EQ(second.start_step, 200);
  EXPECT_EQ(second.resume_dir, "/checkpoints/200");
  lab.Hello(1, 200);
  EXPECT_EQ(lab.run(1).attempts[0].count_after, -1);
  EXPECT_EQ(lab.run(1).attempts[0].count_to, 200);
  EXPECT_EQ(lab.run(1).attempts[1].count_after, 200);
  // In the end somebody else takes it, from scratch.
  lab.Exit(1, FailureKind::kPreempted, 230);
  lab.Advance(absl::Seconds(31));
  lab.Fetch(Lab::Report("b"));
  EXPECT_FALSE(lab.run(1).attempts.back().parent);
}

TEST(Scheduler, AHelloFromScratchStartsANewLine) {
  Lab lab;
  lab.Submit(1);
  lab.Fetch(Lab::Report("a"));
  lab.Hello(1);
  lab.Checkpointed(1, 100);
  lab.Exit(1, FailureKind::kPreempted, 150);
  lab.Fetch(Lab::Report("a"));
  lab.Hello(1, -1);  // the checkpoint was gone
  EXPECT_EQ(lab.run(1).attempts[0].count_after, lab.run(1).attempts[0].count_to);
  EXPECT_EQ(lab.run(1).attempts[1].count_after, -1);
  EXPECT_EQ(lab.run(1).head, AttemptNumber(2));
}

// The newest attempt's checkpoints were all lost, and the trainer took up the line before it.
TEST(Scheduler, AnAncestorsCheckpointServes) {
  for (const int64_t resumed : {200, 100}) {
    Lab lab;
    lab.Submit(1);
    lab.Fetch(Lab::Report("a"));
    lab.Hello(1);
    lab.Checkpointed(1, 100);
    lab.Checkpointed(1, 200);
    lab.Exit(1, FailureKind::kPreempted, 230);
    lab.Fetch(Lab::Report("a"));
    lab.Hello(1, 200);
    lab.Checkpointed(1, 300);
    lab.Exit(1, FailureKind::kPreempted, 330);
    lab.Fetch(Lab::Report("a"));
    EXPECT_EQ(lab.run(1).attempts.back().parent, AttemptNumber(2));
    lab.Hello(1, resumed);
    const auto& attempts = lab.run(1).attempts;
    EXPECT_EQ(attempts[2].parent, AttemptNumber(1));
    EXPECT_EQ(attempts[0].count_after, -1);
    EXPECT_EQ(attempts[0].count_to, resumed);
    EXPECT_EQ(attempts[1].count_after, attempts[1].count_to);
    EXPECT_EQ(attempts[2].count_after, resumed);
  }
}

// Two machines share a disk: the one on whose instruction set the checkpoint was written goes first
// where it can, and nobody waits for it for long.
TEST(Scheduler, ResumesOnTheSameInstructionSetWhereItCan) {
  Lab lab;
  lab.Submit(1);
  const auto on = [](const char* name, const char* isa) {
    WorkerReport report = Lab::Report(name);
    report.versions.isa = isa;
    report.store_id = "shared";
    return report;
  };
  lab.Fetch(on("a", "avx2"));
  lab.Hello(1);
  lab.Checkpointed(1, 100);
  lab.Exit(1, FailureKind::kPreempted, 120);
  EXPECT_TRUE(lab.Fetch(on("b", "avx512")).empty());
  EXPECT_EQ(lab.Fetch(on("c", "avx2")).size(), 1u);
  EXPECT_EQ(lab.run(1).attempts.back().start_step, 100);
  lab.Exit(1, FailureKind::kPreempted, 120);
  EXPECT_TRUE(lab.Fetch(on("b", "avx512")).empty());
  lab.Advance(absl::Seconds(31));
  EXPECT_EQ(lab.Fetch(on("b", "avx512")).size(), 1u);
}

TEST(Scheduler, FailuresWaitThenFail) {
  Lab lab;
  lab.Submit(1);
  for (const int64_t pause_s : {5, 10}) {
    lab.Fetch(Lab::Report("w"));
    lab.Exit(1, FailureKind::kCodeError, 7);
    EXPECT_EQ(lab.run(1).state, RunState::kWaiting);
    lab.Advance(absl::Seconds(pause_s) - absl::Seconds(1));
    EXPECT_TRUE(lab.Fetch(Lab::Report("w")).empty());
    lab.Advance(absl::Seconds(1));
  }
  lab.Fetch(Lab::Report("w"));
  lab.Exit(1, FailureKind::kCodeError, 7);
  EXPECT_EQ(lab.run(1).state, RunState::kFailed);
  EXPECT_EQ(lab.run(1).reason, "code_error");
}

TEST(Scheduler, AWorkerWhereRunsKeepFailingIsSetAside) {
  Lab lab;
  lab.Submit(5);
  for (int64_t run = 1; run <= 3; ++run) {
    ASSERT_EQ(lab.Fetch(Lab::Report("bad")).size(), 1u) << run;
    lab.Exit(run, FailureKind::kCodeError, 0);
  }
  EXPECT_TRUE(lab.Fetch(Lab::Report("bad")).empty());
  EXPECT_EQ(lab.Fetch(Lab::Report("good")).size(), 1u);
  lab.Advance(absl::Minutes(1));
  EXPECT_EQ(lab.Fetch(Lab::Report("bad")).size(), 1u);
}

TEST(Scheduler, CancellingDropsAMembership) {
  Lab lab;
  const SweepId first = lab.Submit(2);
  const SweepId second = lab.Submit(0, {}, {RunId(1)});
  lab.Fetch(Lab::Report("w", 2));
  lab.Check(lab.scheduler().OnSweepCancelled(first, "enough", lab.now()));
  EXPECT_EQ(lab.run(1).state, RunState::kRunning);
  EXPECT_EQ(lab.run(2).state, RunState::kCancelled);
  WorkerReport report = Lab::Report("w", 2);
  report.held = {Lab::Held(lab.run(1)), Lab::Held(lab.run(2))};
  const auto orders = lab.Call(report);
  ASSERT_EQ(orders->stop.size(), 1u);
  EXPECT_EQ(orders->stop[0].token, lab.run(2).attempts[0].token);
  EXPECT_EQ(orders->stop[0].reason, FailureKind::kCancelled);
  lab.Check(lab.scheduler().OnSweepCancelled(second, "", lab.now()));
  EXPECT_EQ(lab.run(1).state, RunState::kCancelled);
}

TEST(Scheduler, PriorityIsTheHighestOfItsSweeps) {
  Lab lab;
  lab.Submit(2);
  lab.Submit(1, {}, {RunId(2)}, /*priority=*/5);
  EXPECT_EQ(lab.Fetch(Lab::Report("a"))[0].run, RunId(2));
  EXPECT_EQ(lab.Fetch(Lab::Report("b"))[0].run, RunId(3));
  EXPECT_EQ(lab.Fetch(Lab::Report("c"))[0].run, RunId(1));
}

TEST(Scheduler, MatchesResources) {
  Lab lab;
  lab.Submit(1, Demand{2, 1, 0});
  lab.Submit(3, Demand{0, 4, 0});
  WorkerReport report = Lab::Report("w", 4);
  EXPECT_EQ(lab.Fetch(report).size(), 2u);  // eight CPUs, four each
  WorkerReport gpus = Lab::Report("g", 4);
  gpus.resources.gpus = {{"0", "H200", 0}, {"1", "H200", 0}};
  const auto wanted = lab.Fetch(gpus);
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].run, RunId(1));
}

TEST(Scheduler, NoWorkForOtherMathematicsOrADrainingWorker) {
  Lab lab;
  lab.Submit(1);
  WorkerReport other = Lab::Report("other");
  other.versions.trainer_math = kTrainerMath + 1;
  EXPECT_TRUE(lab.Fetch(other).empty());
  WorkerReport draining = Lab::Report("draining");
  draining.draining = true;
  EXPECT_TRUE(lab.Fetch(draining).empty());
  WorkerReport broken = Lab::Report("broken");
  broken.versions.trainer_error = "no LibTorch";
  EXPECT_TRUE(lab.Fetch(broken).empty());
}

TEST(Scheduler, TooManyFailuresCancelTheSweep) {
  Lab lab;
  lab.Submit(3, {}, {}, 0, /*max_failures=*/1);
  for (int64_t run = 1; run <= 2; ++run) {
    lab.Fetch(Lab::Report("w"));
    lab.Exit(run, FailureKind::kConfigError, 0);
  }
  EXPECT_EQ(lab.run(3).state, RunState::kCancelled);
  EXPECT_EQ(lab.run(3).reason, "max_failures");
}

}  // namespace
}  // namespace normlab::server
