#include "core/detect/stop_policy.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab {

nlohmann::json ToJson(const StopPolicy& policy) {
  return {{"nonfinite", policy.nonfinite},
          {"spikes_per_1k", policy.spikes_per_1k},
          {"after_step", policy.after_step}};
}

absl::StatusOr<StopPolicy> StopPolicyFromJson(const nlohmann::json& document) {
  StopPolicy policy;
  if (!document.is_object()) return InvalidArgument("the stop policy should be an object");
  for (const auto& [key, value] : document.items()) {
    if (key == "nonfinite") {
      ASSIGN_OR_RETURN(policy.nonfinite, JsonBool(document, key));
    } else if (key == "spikes_per_1k") {
      ASSIGN_OR_RETURN(policy.spikes_per_1k, JsonReal(document, key));
    } else if (key == "after_step") {
      ASSIGN_OR_RETURN(policy.after_step, JsonInt(document, key));
    } else {
      return InvalidArgument("'", key, "' is no stop rule: nonfinite, spikes_per_1k, after_step");
    }
  }
  if (policy.spikes_per_1k < 0 || policy.after_step < 0) {
    return InvalidArgument("a stop rule should not be below 0");
  }
  return policy;
}

std::optional<std::string> StopWatch::OnStep(int64_t step, double train_loss, double grad_norm) {
  if (policy_.nonfinite && !(std::isfinite(train_loss) && std::isfinite(grad_norm))) {
    return "nonfinite";
  }
  if (policy_.spikes_per_1k == 0) return std::nullopt;
  const auto event = spikes_.OnStep(step, train_loss, grad_norm);
  if (event && event->phase == SpikeEvent::Phase::kOnset && step > policy_.after_step) {
    onsets_.push_back(step);
  }
  while (!onsets_.empty() && onsets_.front() <= step - 1000) onsets_.pop_front();
  if (static_cast<double>(onsets_.size()) > policy_.spikes_per_1k) return "spikes_per_1k";
  return std::nullopt;
}

}  // namespace normlab
