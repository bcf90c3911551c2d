#include "server/query/sweep_progress.h"

#include "gtest/gtest.h"

namespace normlab::server {
namespace {

using S = RunState;

MemberProgress Member(RunState state, int64_t step = 0, double active_s = 0) {
  MemberProgress member;
  member.state = state;
  member.step = step;
  member.steps = 100;
  member.active_s = active_s;
  return member;
}

TEST(SweepProgressTest, StateOfTheSweepFromThoseOfItsRuns) {
  struct Case {
    std::vector<RunState> runs;
    bool cancelled;
    std::string state;
  };
  for (const Case& c :
       {Case{{S::kQueued, S::kQueued}, false, "queued"},
        Case{{S::kWaiting, S::kQueued}, false, "queued"},
        Case{{S::kRunning, S::kQueued}, false, "running"},
        Case{{S::kDone, S::kQueued}, false, "running"}, Case{{S::kDone, S::kDone}, false, "done"},
        Case{{S::kDone, S::kFailed}, false, "failed"},
        Case{{S::kDone, S::kCancelled}, false, "done"},
        Case{{S::kCancelled, S::kCancelled}, false, "cancelled"},
        Case{{S::kDone, S::kRunning}, true, "cancelled"}}) {
    SweepProgress progress;
    for (const RunState state : c.runs) progress.Add(Member(state));
    EXPECT_EQ(progress.State(c.cancelled), c.state);
  }
}

TEST(SweepProgressTest, AnEndedRunIsWholeWhereverItEnded) {
  SweepProgress progress;
  progress.Add(Member(S::kDone, 30));
  progress.Add(Member(S::kRunning, 50));
  progress.Add(Member(S::kQueued));
  EXPECT_DOUBLE_EQ(progress.Done(), 0.5);
}

TEST(SweepProgressTest, TimeLeftFromThePaceSoFar) {
  SweepProgress progress;
  progress.Add(Member(S::kDone, 100, 10));
  progress.Add(Member(S::kRunning, 50, 5));
  progress.Add(Member(S::kRunning, 50, 5));
  progress.Add(Member(S::kQueued));
  // 200 steps left at 0.1 s each, two at a time.
  EXPECT_DOUBLE_EQ(*progress.SecondsLeft(), 10);
}

TEST(SweepProgressTest, NoTimeLeftWithoutAPaceOrWork) {
  SweepProgress queued;
  queued.Add(Member(S::kQueued));
  EXPECT_FALSE(queued.SecondsLeft().has_value());
  SweepProgress done;
  done.Add(Member(S::kDone, 100, 10));
  EXPECT_FALSE(done.SecondsLeft().has_value());
}

TEST(SweepProgressTest, WhatACancelledSweepLetGoIsCancelledThere) {
  SweepProgress progress;
  MemberProgress going_on = Member(S::kRunning, 10, 1);
  going_on.dropped = true;
  progress.Add(going_on);
  EXPECT_EQ(progress.Count(S::kCancelled), 1);
  EXPECT_EQ(progress.Count(S::kRunning), 0);
}

}  // namespace
}  // namespace normlab::server
