#ifndef NORMLAB_SERVER_STATS_DEPTH_GROWTH_H_
#define NORMLAB_SERVER_STATS_DEPTH_GROWTH_H_

#include <optional>
#include <vector>

namespace normlab::server {

// How a profile over depth grew from what enters the first sublayer to what leaves the last one.
// Descriptive: one run says nothing about a law of growth.
struct DepthGrowth {
  double first = 0;
  double last = 0;
  double ratio = 0;  // last / first
};

// Empty when the profile has fewer than two depths, or when an end is not finite or
// not positive: then there is no ratio to speak of.
std::optional<DepthGrowth> GrowthOf(const std::vector<double>& profile);

// The arm's growth: means over its runs of `first` and `last`, and the geometric mean of the
// ratios, so that one run with twice the growth and one with half of it give 1. Empty without runs.
std::optional<DepthGrowth> MeanGrowth(const std::vector<DepthGrowth>& runs);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STATS_DEPTH_GROWTH_H_
