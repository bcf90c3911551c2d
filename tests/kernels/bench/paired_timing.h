// Times a function against a peer in the same run: rounds in which each is called in turn, so that
// whatever else the machine does meets both alike.
#ifndef NORMLAB_TESTS_KERNELS_BENCH_PAIRED_TIMING_H_
#define NORMLAB_TESTS_KERNELS_BENCH_PAIRED_TIMING_H_

#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace normlab::kernels {

struct Timed {
  std::string name;
  std::function<void()> run;
};

// Seconds per call: [function][round]. Each entry is the fastest of a few calls in a row. Two
// rounds before the first are not counted.
std::vector<std::vector<double>> TimeInTurn(const Clock& clock, const std::vector<Timed>& functions,
                                            int rounds);

struct Estimate {
  double value;   // median over the rounds
  double spread;  // half the distance between the quartiles
};
Estimate MedianOf(std::vector<double> values);
// Round by round, peer over ours, times `weight`: above 1 means ours is faster.
Estimate RatioOf(const std::vector<double>& ours, const std::vector<double>& peer, double weight);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_BENCH_PAIRED_TIMING_H_
