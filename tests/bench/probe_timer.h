// What a probe adds to a run's time, from the times of its steps.
#ifndef NORMLAB_TESTS_BENCH_PROBE_TIMER_H_
#define NORMLAB_TESTS_BENCH_PROBE_TIMER_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "core/clock.h"
#include "tests/kernels/bench/paired_timing.h"

namespace normlab::bench {

// One probe and the steps around it, seconds: `plain` is a step that neither has a probe nor
// follows one, `extra` what the probe adds to its own step and to the next, which finds cold caches
// and sleeping threads.
struct ProbeTimes {
  double plain, extra;
};

// Of a run that probes every kCycle steps. Told when a step ends, it takes the time since the end
// of the one before, with everything in between.
class ProbeTimer {
 public:
  static constexpr int kCycle = 4;  // the probed step, the next, and two to hold them against

  // The first `uncounted` cycles that are complete do not count.
  ProbeTimer(const Clock& clock, int uncounted) : clock_(clock), uncounted_(uncounted) {}

  void StepEnds();

  const std::vector<ProbeTimes>& times() const { return times_; }

 private:
  const Clock& clock_;
  int uncounted_;
  int64_t step_ = 0;
  absl::Time mark_;
  double probed_and_next_ = 0, plain_ = 0;
  std::vector<ProbeTimes> times_;
};

// Share of a run's time that a probe every `steps` steps takes: the median over the cycles, so that
// what disturbs less than half of them does not show.
Estimate ProbeShare(const std::vector<ProbeTimes>& times, int steps);

}  // namespace normlab::bench

#endif  // NORMLAB_TESTS_BENCH_PROBE_TIMER_H_
