#include "server/stats/depth_growth.h"

#include <cmath>

namespace normlab::server {

std::optional<DepthGrowth> GrowthOf(const std::vector<double>& profile) {
  if (profile.size() < 2) return std::nullopt;
  const double first = profile.front();
  const double last = profile.back();
  if (!std::isfinite(first) || !std::isfinite(last) || first <= 0 || last <= 0) {
    return std::nullopt;
  }
  return DepthGrowth{first, last, last / first};
}

std::optional<DepthGrowth> MeanGrowth(const std::vector<DepthGrowth>& runs) {
  if (runs.empty()) return std::nullopt;
  DepthGrowth mean;
  double log_ratio = 0;
  for (const DepthGrowth& run : runs) {
    mean.first += run.first;
    mean.last += run.last;
    log_ratio += std::log(run.ratio);
  }
  const double n = static_cast<double>(runs.size());
  mean.first /= n;
  mean.last /= n;
  mean.ratio = std::exp(log_ratio / n);
  return mean;
}

}  // namespace normlab::server
