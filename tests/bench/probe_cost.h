// What it costs to look: steps with all probes among steps without, in one run.
#ifndef NORMLAB_TESTS_BENCH_PROBE_COST_H_
#define NORMLAB_TESTS_BENCH_PROBE_COST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/run_config.h"
#include "tests/kernels/bench/paired_timing.h"

namespace normlab::bench {

// Seconds per step, round by round, with everything between one step and the next.
struct ProbeTimes {
  std::vector<double> plain, probed;
};

// Trains with a probe at every second step, so that both kinds meet the same machine. `dir` takes
// the checkpoint that ends the run.
absl::StatusOr<ProbeTimes> TimeProbes(RunConfig config, const std::string& data_dir,
                                      const std::string& dir, int threads, const TimingPlan& plan);

// Share of a run's time that a probe every `steps` steps takes.
Estimate ProbeShare(const ProbeTimes& times, int steps);

}  // namespace normlab::bench

#endif  // NORMLAB_TESTS_BENCH_PROBE_COST_H_
