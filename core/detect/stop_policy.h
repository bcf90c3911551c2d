#ifndef NORMLAB_CORE_DETECT_STOP_POLICY_H_
#define NORMLAB_CORE_DETECT_STOP_POLICY_H_

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/detect/spike_detector.h"

namespace normlab {

// When a run may end before its last step. A rule that is off has no effect.
struct StopPolicy {
  bool nonfinite = true;     // at the first non-finite loss or gradient norm
  double spikes_per_1k = 0;  // at more spike events than this in the last 1,000 steps; 0: off
  int64_t after_step = 0;    // spikes count only after this step (warm-up is noisy)
  friend bool operator==(const StopPolicy&, const StopPolicy&) = default;
};

nlohmann::json ToJson(const StopPolicy& policy);
// InvalidArgument names an unknown key or a wrong value.
absl::StatusOr<StopPolicy> StopPolicyFromJson(const nlohmann::json& document);

// Watches one run. Feed every step in order, from step 1 or from where a run was resumed (replaying
// the earlier steps gives the state an uninterrupted run would have). A value; no I/O.
class StopWatch {
 public:
  explicit StopWatch(const StopPolicy& policy) : policy_(policy) {}

  // The name of the rule that says stop ("nonfinite", "spikes_per_1k"), or nothing.
  std::optional<std::string> OnStep(int64_t step, double train_loss, double grad_norm);

 private:
  StopPolicy policy_;
  SpikeDetector spikes_;
  std::deque<int64_t> onsets_;  // spike onsets of the last 1,000 steps, oldest first
};

}  // namespace normlab

#endif  // NORMLAB_CORE_DETECT_STOP_POLICY_H_
