// What it costs to look: steps with all probes among steps without, in one run.
#ifndef NORMLAB_TESTS_BENCH_PROBE_COST_H_
#define NORMLAB_TESTS_BENCH_PROBE_COST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/run_config.h"
#include "tests/bench/probe_timer.h"

namespace normlab::bench {

// Trains until `plan` has as many probes as other benches have calls of a function, so that probed
// steps and others meet the same machine. `dir` takes the checkpoint that ends the run.
absl::StatusOr<std::vector<ProbeTimes>> TimeProbes(RunConfig config, const std::string& data_dir,
                                                   const std::string& dir, int threads,
                                                   const TimingPlan& plan);

}  // namespace normlab::bench

#endif  // NORMLAB_TESTS_BENCH_PROBE_COST_H_
