#include "tests/bench/probe_timer.h"

#include <utility>

namespace normlab::bench {

void ProbeTimer::StepEnds() {
  const absl::Time now = clock_.MonotonicNow();
  const double seconds = absl::ToDoubleSeconds(now - std::exchange(mark_, now));
  ++step_;
  if (step_ < kCycle) return;  // the first has no beginning, and the cycle no probe
  const int64_t phase = step_ % kCycle;
  if (phase == 0) probed_and_next_ = plain_ = 0;
  (phase < 2 ? probed_and_next_ : plain_) += seconds / 2;
  if (phase < kCycle - 1 || uncounted_-- > 0) return;
  uncounted_ = 0;
  times_.push_back({plain_, 2 * (probed_and_next_ - plain_)});
}

Estimate ProbeShare(const std::vector<ProbeTimes>& times, int steps) {
  std::vector<double> shares;
  for (const auto& [plain, extra] : times) shares.push_back(extra / (plain * steps + extra));
  return MedianOf(std::move(shares));
}

}  // namespace normlab::bench
