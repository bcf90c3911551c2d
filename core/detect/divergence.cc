#include "core/detect/divergence.h"

#include <algorithm>
#include <cmath>

namespace normlab {

namespace {

// Mean of the finite values among losses[first, last); empty when there is none.
std::optional<double> FiniteMean(const std::vector<double>& losses, size_t first, size_t last) {
  double sum = 0;
  double count = 0;
  for (size_t i = first; i < last; ++i) {
    if (!std::isfinite(losses[i])) continue;
    sum += losses[i];
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

// Lowest mean of any `width` steps in a row. Prefix sums of finite values and of their count; the
// sums are of losses of one size, so nothing cancels that would matter at nats.
std::optional<double> LowestWindowMean(const std::vector<double>& losses, size_t width) {
  std::vector<double> sum(losses.size() + 1);
  std::vector<double> count(losses.size() + 1);
  for (size_t i = 0; i < losses.size(); ++i) {
    const bool finite = std::isfinite(losses[i]);
    sum[i + 1] = sum[i] + (finite ? losses[i] : 0);
    count[i + 1] = count[i] + (finite ? 1 : 0);
  }
  std::optional<double> lowest;
  for (size_t i = 0; i + width <= losses.size(); ++i) {
    const double n = count[i + width] - count[i];
    if (n == 0) continue;
    const double mean = (sum[i + width] - sum[i]) / n;
    if (!lowest || mean < *lowest) lowest = mean;
  }
  return lowest;
}

size_t ShareOfSteps(size_t steps, double share) {
  return std::max<size_t>(1, static_cast<size_t>(std::llround(static_cast<double>(steps) * share)));
}

}  // namespace

bool DivergedHard::OnStep(int64_t step, double train_loss, double grad_norm) {
  if (first_step_ || (std::isfinite(train_loss) && std::isfinite(grad_norm))) return false;
  first_step_ = step;
  return true;
}

std::optional<double> StepNoise(const std::vector<double>& train_loss) {
  constexpr size_t kMinDifferences = 10;
  std::vector<double> differences;
  std::optional<double> before;
  for (double loss : train_loss) {
    if (!std::isfinite(loss)) continue;
    if (before) differences.push_back(std::abs(loss - *before));
    before = loss;
  }
  if (differences.size() < kMinDifferences) return std::nullopt;
  const auto middle = differences.begin() + static_cast<ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  return 1.4826 * *middle / std::sqrt(2.0);
}

std::optional<DivergedSoftResult> DivergedSoft(const DivergedSoftInput& input,
                                               const DivergedSoftParams& params) {
  const std::vector<double>& losses = input.train_loss;
  const auto finite =
      std::count_if(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); });
  if (finite < params.min_steps) return std::nullopt;
  const std::optional<double> noise = StepNoise(losses);
  const size_t tail = ShareOfSteps(losses.size(), params.tail_share);
  const auto tail_mean = FiniteMean(losses, losses.size() - tail, losses.size());
  const auto lowest = LowestWindowMean(losses, ShareOfSteps(losses.size(), params.window_share));
  if (!noise || !tail_mean || !lowest) return std::nullopt;

  DivergedSoftResult result;
  result.step_noise = *noise;
  result.tail_mean = *tail_mean;
  result.lowest_mean = *lowest;
  const double standard_error = *noise / std::sqrt(static_cast<double>(tail));
  result.limit = *lowest + std::max(params.min_rise, params.standard_errors * standard_error);
  result.above_unigram = input.warmup_over && input.final_val_loss && input.unigram_entropy &&
                         !(*input.final_val_loss <= *input.unigram_entropy);
  result.diverged = result.tail_mean > result.limit || result.above_unigram;
  return result;
}

}  // namespace normlab
