#ifndef NORMLAB_CORE_DETECT_SPIKE_DETECTOR_H_
#define NORMLAB_CORE_DETECT_SPIKE_DETECTOR_H_

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace normlab {

struct SpikeDetectorParams {
  int window = 100;      // finite values of ln(loss) and ln(gradient norm) that are looked back at
  int min_history = 50;  // fewer: no verdict yet
  double threshold = 8;  // onset above median + threshold · 1.4826 · MAD
  double end_threshold = 4;  // over when back under median + end_threshold · 1.4826 · MAD
  double min_relative_height =
      0.05;  // and at least this much above the median, relative to the loss
  int max_length =
      200;  // steps after which it counts as not recovered and its level as the new one
  friend bool operator==(const SpikeDetectorParams&, const SpikeDetectorParams&) = default;
};

struct SpikeEvent {
  enum class Phase { kOnset, kEnd };
  Phase phase = Phase::kOnset;  // kOnset: just began, peak so far; kEnd: complete
  int64_t onset = 0;            // steps
  int64_t peak = 0;
  int64_t end = 0;      // first step that is back under the end threshold; 0 at kOnset
  double baseline = 0;  // loss: exp of the median of ln(loss) before the onset
  double height = 0;    // loss at the peak less baseline, nats
  double z = 0;         // (y − median) / (1.4826 · MAD) at the peak; +inf for a constant history
  bool recovered = false;
  int64_t steps_to_recover = 0;  // end − onset when recovered
  bool grad_spiked = false;      // the gradient norm crossed its own threshold meanwhile
};

// Loss spikes, online: y = ln(train loss) against the trailing median and MAD of the last `window`
// finite values before the current one. Values inside a spike do not enter the history, so that the
// baseline stays what it was; after `max_length` steps the spike is closed as not recovered and
// history starts anew. Non-finite and non-positive losses are skipped: they are the business of
// diverged_hard. A constant history has MAD 0: then only min_relative_height decides.
// Version 1. A plain value; the same input gives the same events online and recomputed.
class SpikeDetector {
 public:
  static constexpr std::string_view kName = "loss_spike";
  static constexpr int kVersion = 1;

  explicit SpikeDetector(const SpikeDetectorParams& params = {}) : params_(params) {}

  // Feed every step in order. At most one event a step.
  std::optional<SpikeEvent> OnStep(int64_t step, double train_loss, double grad_norm);

  // At the end of the series: the spike that is still open, as not recovered.
  std::optional<SpikeEvent> Finish();

  const SpikeDetectorParams& params() const { return params_; }

 private:
  struct Level {  // median and scaled MAD of a history
    double median;
    double sigma;
  };
  Level LevelOf(const std::deque<double>& history) const;
  void Remember(std::deque<double>& history, double value) const;
  bool GradSpikes(double grad_norm) const;
  std::optional<SpikeEvent> InSpike(int64_t step, double train_loss);
  std::optional<SpikeEvent> Quiet(int64_t step, double train_loss, bool grad_spikes);
  SpikeEvent Close(int64_t step, bool recovered);

  SpikeDetectorParams params_;
  std::deque<double> loss_history_;  // ln(loss)
  std::deque<double> grad_history_;  // ln(gradient norm)
  std::optional<SpikeEvent> open_;
  Level level_{0, 0};  // at the onset of the open spike
  int64_t last_step_ = 0;
};

nlohmann::json ToJson(const SpikeDetectorParams& params);
// The event as its `detail`: onset, peak, end, baseline, height, z …; non-finite numbers as
// markers.
nlohmann::json ToJson(const SpikeEvent& event);

}  // namespace normlab

#endif  // NORMLAB_CORE_DETECT_SPIKE_DETECTOR_H_
