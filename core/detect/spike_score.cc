#include "core/detect/spike_score.h"

#include <algorithm>
#include <cmath>

namespace normlab {

void SpikeScore::OnStep(int64_t step, double value) {
  if (!std::isfinite(value)) return;
  if (window_.size() == static_cast<size_t>(params_.window)) {
    scored_.push_back(step);
    const double deviation = std::sqrt(std::max(m2_, 0.0) / static_cast<double>(window_.size()));
    const double distance = std::abs(value - mean_);
    if (distance > 0 && distance >= params_.sigmas * deviation) spikes_.push_back(step);
  }
  Remember(value);
}

void SpikeScore::Remember(double value) {
  if (window_.size() < static_cast<size_t>(params_.window)) {
    window_.push_back(value);
    const double before = mean_;
    mean_ += (value - before) / static_cast<double>(window_.size());
    m2_ += (value - before) * (value - mean_);
  } else {
    const double oldest = window_.front();
    window_.pop_front();
    window_.push_back(value);
    const double before = mean_;
    mean_ += (value - oldest) / static_cast<double>(window_.size());
    m2_ += (value - oldest) * (value - mean_ + oldest - before);
  }
  if (++since_rebuild_ >= params_.window) Rebuild();
}

void SpikeScore::Rebuild() {
  since_rebuild_ = 0;
  mean_ = 0;
  m2_ = 0;
  double count = 0;
  for (double value : window_) {
    const double before = mean_;
    mean_ += (value - before) / ++count;
    m2_ += (value - before) * (value - mean_);
  }
}

std::optional<double> SpikeScore::MiddleShare(int64_t total_steps) const {
  return ShareOf((total_steps + 9) / 10, total_steps * 9 / 10);
}

std::optional<double> SpikeScore::ShareOf(int64_t first, int64_t last) const {
  const auto between = [first, last](const std::vector<int64_t>& steps) {
    const auto from = std::lower_bound(steps.begin(), steps.end(), first);
    return std::upper_bound(from, steps.end(), last) - from;
  };
  const auto scored = between(scored_);
  if (scored == 0) return std::nullopt;
  return static_cast<double>(between(spikes_)) / static_cast<double>(scored);
}

}  // namespace normlab
