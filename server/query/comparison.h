#ifndef NORMLAB_SERVER_QUERY_COMPARISON_H_
#define NORMLAB_SERVER_QUERY_COMPARISON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/outcome.h"
#include "server/stats/depth_growth.h"
#include "server/stats/sample.h"

namespace normlab::server {

// One run of a sweep as a comparison sees it. Facts only.
struct ComparedRun {
  std::string arm;  // which arm it belongs to
  // What it shares with its partners in another arm: the seed, and the levels of other factors.
  int64_t seed = 0;
  std::map<std::string, std::string> rest;
  RunState state = RunState::kQueued;
  std::optional<Outcome> outcome;
  // The metric at the run's last step; not finite where that was measured. Empty for a run that is
  // not done, or that ended before its last step: an early value is no final one.
  std::optional<double> value;
  std::optional<DepthGrowth> growth;
  std::optional<double> tokens_per_s;
};

struct Difference {  // to the baseline, in pairs
  SampleSummary summary;
  std::optional<double> p_signflip;
};

struct Arm {
  std::string label;
  int64_t planned = 0;  // runs
  int64_t done = 0;
  int64_t failed = 0;
  int64_t open = 0;  // not ended yet
  int64_t cancelled = 0;
  int64_t without_value = 0;  // done, but ended early
  SampleSummary value;
  std::optional<Difference> difference;  // empty for the baseline, and without a pair
  // Of the done runs whose outcome says so; censored runs are neither healthy nor diverged, so they
  // are in neither number.
  int64_t diverged = 0;
  int64_t judged = 0;
  int64_t censored = 0;
  std::optional<Interval> diverged_interval;
  std::optional<DepthGrowth> growth;
  std::optional<double> tokens_per_s;
};

// Runs of the whole comparison; one that is in several arms counts once.
struct RunCounts {
  int64_t open = 0;
  int64_t planned = 0;
};

// The arms in order of first appearance. `baseline` is one of them. Partners have the same seed and
// the same levels of those factors that apply in both arms; where one arm has several runs of that
// kind (its other factor does not apply over there), the pair has their mean.
std::vector<Arm> CompareArms(const std::vector<ComparedRun>& runs, const std::string& baseline);

// What a reader must know to read the table right: what is missing and why.
std::vector<std::string> ComparisonNotes(const std::vector<Arm>& arms, const RunCounts& counts);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_COMPARISON_H_
