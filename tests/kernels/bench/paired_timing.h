// Times functions against peers in the same run: rounds in which each is called in turn, so that
// whatever else the machine does meets all alike.
#ifndef NORMLAB_TESTS_KERNELS_BENCH_PAIRED_TIMING_H_
#define NORMLAB_TESTS_KERNELS_BENCH_PAIRED_TIMING_H_

#include <functional>
#include <vector>

#include "core/clock.h"

namespace normlab::bench {

struct TimingPlan {
  int rounds = 15;
  int calls_in_a_row = 3;  // of which the fastest counts
  int uncounted = 2;       // rounds before the first
};

// Seconds per call: [function][round].
std::vector<std::vector<double>> TimeInTurn(const Clock& clock,
                                            const std::vector<std::function<void()>>& functions,
                                            const TimingPlan& plan);

struct Estimate {
  double value;   // median over the rounds
  double spread;  // half the distance between the quartiles
};
Estimate MedianOf(std::vector<double> values);
// Round by round, peer over ours, times `weight`: above 1 means ours is faster.
Estimate RatioOf(const std::vector<double>& ours, const std::vector<double>& peer, double weight);

}  // namespace normlab::bench

#endif  // NORMLAB_TESTS_KERNELS_BENCH_PAIRED_TIMING_H_
