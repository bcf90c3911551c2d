#ifndef NORMLAB_CORE_DETECT_SPIKE_SCORE_H_
#define NORMLAB_CORE_DETECT_SPIKE_SCORE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace normlab {

// OLMo 2's spike score: the share of steps whose value lies at least 7 standard deviations from the
// mean of the previous 1,000 values; the first 1,000 are not scored. Non-finite values are neither
// scored nor remembered. Mean and deviation are kept by adding and removing one value at a time
// (Welford), rebuilt once a window so that rounding does not pile up; a constant window has
// deviation 0, and then any other value counts. Version 1. A plain value.
class SpikeScore {
 public:
  static constexpr std::string_view kName = "spike_score";
  static constexpr int kVersion = 1;
  struct Params {
    int window = 1000;
    double sigmas = 7;
  };

  SpikeScore() : SpikeScore(Params{}) {}
  explicit SpikeScore(const Params& params) : params_(params) {}

  // Feed every step in order.
  void OnStep(int64_t step, double value);

  // Share in [0, 1]; empty ("n/a") while no step was scored.
  std::optional<double> Share() const { return ShareOf(0, INT64_MAX); }
  // Only the steps between 10 % and 90 % of a run of `total_steps`.
  std::optional<double> MiddleShare(int64_t total_steps) const;

 private:
  std::optional<double> ShareOf(int64_t first, int64_t last) const;
  void Remember(double value);
  void Rebuild();

  Params params_;
  std::deque<double> window_;
  double mean_ = 0;
  double m2_ = 0;  // sum of squared deviations
  int since_rebuild_ = 0;
  std::vector<int64_t> scored_;  // steps, ascending
  std::vector<int64_t> spikes_;  // of these, the ones that count
};

}  // namespace normlab

#endif  // NORMLAB_CORE_DETECT_SPIKE_SCORE_H_
