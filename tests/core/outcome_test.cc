#include "core/outcome.h"

#include <gtest/gtest.h>

#include <csignal>

namespace normlab {
namespace {

TEST(Outcome, NamesReadBack) {
  for (RunState state : {RunState::kQueued, RunState::kWaiting, RunState::kRunning, RunState::kDone,
                         RunState::kFailed, RunState::kCancelled}) {
    EXPECT_EQ(ParseRunState(ToString(state)), state);
  }
  for (Outcome outcome : {Outcome::kHealthy, Outcome::kDiverged, Outcome::kCensored}) {
    EXPECT_EQ(ParseOutcome(ToString(outcome)), outcome);
  }
  EXPECT_EQ(ToString(FailureKind::kOutOfMemory), "out_of_memory");
  EXPECT_EQ(ParseFailureKind(""), FailureKind::kNone);
  EXPECT_EQ(ParseFailureKind("diverged"), std::nullopt);  // a result, never a failure
}

TEST(Outcome, ExitsMeanOneFailureEach) {
  EXPECT_EQ(FailureOfExit(0, 0), FailureKind::kNone);
  EXPECT_EQ(FailureOfExit(3, 0), FailureKind::kNone);
  EXPECT_EQ(FailureOfExit(10, 0), FailureKind::kConfigError);
  EXPECT_EQ(FailureOfExit(11, 0), FailureKind::kOutOfMemory);
  EXPECT_EQ(FailureOfExit(12, 0), FailureKind::kPreempted);
  EXPECT_EQ(FailureOfExit(13, 0), FailureKind::kDeviceLost);
  EXPECT_EQ(FailureOfExit(1, 0), FailureKind::kCodeError);
  EXPECT_EQ(FailureOfExit(0, SIGSEGV), FailureKind::kCodeError);
  EXPECT_EQ(FailureOfExit(0, SIGKILL), FailureKind::kOutOfMemory);
}

}  // namespace
}  // namespace normlab
