#ifndef NORMLAB_CORE_DETECT_DIVERGENCE_H_
#define NORMLAB_CORE_DETECT_DIVERGENCE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace normlab {

// diverged_hard: any non-finite loss or gradient norm. Version 1. A plain value.
class DivergedHard {
 public:
  static constexpr std::string_view kName = "diverged_hard";
  static constexpr int kVersion = 1;

  // True at the first non-finite value only. Feed every step in order.
  bool OnStep(int64_t step, double train_loss, double grad_norm);
  // The step of the first non-finite value.
  std::optional<int64_t> first_step() const { return first_step_; }

 private:
  std::optional<int64_t> first_step_;
};

// diverged_soft: the run ended well above where it had been. Non-finite losses enter no mean.
// Version 1.
struct DivergedSoftParams {
  int64_t min_steps = 100;      // fewer: n/a
  double tail_share = 0.05;     // mean of the last 5 % of steps …
  double window_share = 0.01;   // … against the lowest mean of 1 % of the steps …
  double min_rise = 1.0;        // … plus this many nats …
  double standard_errors = 10;  // … or this many standard errors of the step noise, if more
};

struct DivergedSoftInput {
  std::vector<double> train_loss = {};  // of every step, in order
  std::optional<double> final_val_loss = {};
  // Of the validation set, nats; compared after warm-up only.
  std::optional<double> unigram_entropy = {};
  bool warmup_over = true;
};

struct DivergedSoftResult {
  bool diverged = false;
  double tail_mean = 0;
  double lowest_mean = 0;
  double limit = 0;       // what tail_mean was compared with
  double step_noise = 0;  // standard deviation of a step's loss around its local trend
  bool above_unigram = false;
};

inline constexpr std::string_view kDivergedSoftName = "diverged_soft";
inline constexpr int kDivergedSoftVersion = 1;

// Empty ("n/a") below min_steps finite losses.
std::optional<DivergedSoftResult> DivergedSoft(const DivergedSoftInput& input,
                                               const DivergedSoftParams& params = {});

// Standard deviation of a step's loss around its local trend, from differences of neighbours
// (robust: 1.4826 · MAD / √2), so that neither trend nor spikes inflate it. Non-finite values are
// skipped; empty below 10 differences.
std::optional<double> StepNoise(const std::vector<double>& train_loss);

}  // namespace normlab

#endif  // NORMLAB_CORE_DETECT_DIVERGENCE_H_
