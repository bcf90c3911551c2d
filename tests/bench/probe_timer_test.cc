// Shares of a run's time, from steps whose times are known.

#include "tests/bench/probe_timer.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "tests/fakes/fake_clock.h"

namespace normlab::bench {
namespace {

struct TimedRun {
  void Steps(std::initializer_list<int> milliseconds) {
    for (const int step : milliseconds) {
      clock.Advance(absl::Milliseconds(step));
      timer.StepEnds();
    }
  }
  FakeClock clock;
  ProbeTimer timer{clock, /*uncounted=*/1};
};

// Ten steps of 40 ms with one probe of 60 ms, of which the step after it bears 10.
TEST(ProbeTimer, CountsWhatAProbeAddsToItsStepAndTheNext) {
  TimedRun run;
  run.Steps({900, 40, 40});
  run.Steps({500, 300, 200, 100});
  EXPECT_TRUE(run.timer.times().empty());
  run.Steps({90, 50, 41, 39});
  run.Steps({90, 50, 40});
  ASSERT_EQ(run.timer.times().size(), 1u);
  EXPECT_DOUBLE_EQ(run.timer.times()[0].plain, 0.040);
  EXPECT_DOUBLE_EQ(run.timer.times()[0].extra, 0.060);
  EXPECT_DOUBLE_EQ(ProbeShare(run.timer.times(), 10).value, 60.0 / 460.0);
}

TEST(ProbeShare, IsNotThatOfTheDisturbedCycles) {
  const ProbeTimes quiet = {0.04, 0.04}, slow_probe = {0.04, 0.90}, slow_steps = {0.40, -0.30};
  const Estimate share = ProbeShare({slow_probe, quiet, quiet, slow_steps, quiet}, 50);
  EXPECT_DOUBLE_EQ(share.value, 1.0 / 51.0);
  EXPECT_DOUBLE_EQ(share.spread, 0);
}

}  // namespace
}  // namespace normlab::bench
