#include "core/detect/spike_detector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/json.h"

namespace normlab {

namespace {

constexpr double kMadToSigma = 1.4826;  // of a normal distribution

double Median(std::vector<double>& values) {
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  const double lower =
      *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle));
  return lower + (upper - lower) / 2;
}

double Score(double excess, double sigma) {
  if (sigma > 0) return excess / sigma;
  return excess > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

SpikeDetector::Level SpikeDetector::LevelOf(const std::deque<double>& history) const {
  std::vector<double> values(history.begin(), history.end());
  const double median = Median(values);
  for (double& value : values) value = std::abs(value - median);
  return {median, kMadToSigma * Median(values)};
}

void SpikeDetector::Remember(std::deque<double>& history, double value) const {
  history.push_back(value);
  if (history.size() > static_cast<size_t>(params_.window)) history.pop_front();
}

bool SpikeDetector::GradSpikes(double grad_norm) const {
  if (grad_history_.size() < static_cast<size_t>(params_.min_history)) return false;
  if (!std::isfinite(grad_norm)) return true;
  if (grad_norm <= 0) return false;
  const Level level = LevelOf(grad_history_);
  const double excess = std::log(grad_norm) - level.median;
  return excess >
         std::max(params_.threshold * level.sigma, std::log1p(params_.min_relative_height));
}

SpikeEvent SpikeDetector::Close(int64_t step, bool recovered) {
  SpikeEvent event = *open_;
  event.phase = SpikeEvent::Phase::kEnd;
  event.end = step;
  event.recovered = recovered;
  event.steps_to_recover = recovered ? step - event.onset : 0;
  open_.reset();
  return event;
}

std::optional<SpikeEvent> SpikeDetector::OnStep(int64_t step, double train_loss, double grad_norm) {
  last_step_ = step;
  const bool grad_spikes = GradSpikes(grad_norm);
  if (!grad_spikes && std::isfinite(grad_norm) && grad_norm > 0) {
    Remember(grad_history_, std::log(grad_norm));
  }
  if (open_ && grad_spikes) open_->grad_spiked = true;
  if (!std::isfinite(train_loss) || train_loss <= 0) return std::nullopt;
  return open_ ? InSpike(step, train_loss) : Quiet(step, train_loss, grad_spikes);
}

std::optional<SpikeEvent> SpikeDetector::InSpike(int64_t step, double train_loss) {
  const double y = std::log(train_loss);
  const double excess = y - level_.median;
  if (train_loss - open_->baseline > open_->height) {
    open_->peak = step;
    open_->height = train_loss - open_->baseline;
    open_->z = Score(excess, level_.sigma);
  }
  const double limit =
      std::max(params_.end_threshold * level_.sigma, std::log1p(params_.min_relative_height) / 2);
  if (excess <= limit) {
    Remember(loss_history_, y);
    return Close(step, /*recovered=*/true);
  }
  if (step - open_->onset < params_.max_length) return std::nullopt;
  loss_history_.clear();  // this is where the loss lives now
  return Close(step, /*recovered=*/false);
}

std::optional<SpikeEvent> SpikeDetector::Quiet(int64_t step, double train_loss, bool grad_spikes) {
  const double y = std::log(train_loss);
  if (loss_history_.size() >= static_cast<size_t>(params_.min_history)) {
    level_ = LevelOf(loss_history_);
    const double excess = y - level_.median;
    if (excess >
        std::max(params_.threshold * level_.sigma, std::log1p(params_.min_relative_height))) {
      open_.emplace();
      open_->onset = open_->peak = step;
      open_->baseline = std::exp(level_.median);
      open_->height = train_loss - open_->baseline;
      open_->z = Score(excess, level_.sigma);
      open_->grad_spiked = grad_spikes;
      return open_;
    }
  }
  Remember(loss_history_, y);
  return std::nullopt;
}

std::optional<SpikeEvent> SpikeDetector::Finish() {
  if (!open_) return std::nullopt;
  return Close(last_step_, /*recovered=*/false);
}

nlohmann::json ToJson(const SpikeDetectorParams& params) {
  return {{"window", params.window},
          {"min_history", params.min_history},
          {"threshold", params.threshold},
          {"end_threshold", params.end_threshold},
          {"min_relative_height", params.min_relative_height},
          {"max_length", params.max_length}};
}

nlohmann::json ToJson(const SpikeEvent& event) {
  return {{"onset", event.onset},
          {"peak", event.peak},
          {"end", event.end},
          {"baseline", NumberOrMarker(event.baseline)},
          {"height", NumberOrMarker(event.height)},
          {"z", NumberOrMarker(event.z)},
          {"recovered", event.recovered},
          {"steps_to_recover", event.steps_to_recover},
          {"grad_spiked", event.grad_spiked}};
}

}  // namespace normlab
