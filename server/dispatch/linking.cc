#include "server/dispatch/linking.h"

#include <string>
#include <string_view>

#include "core/json.h"
#include "core/outcome.h"
#include "nlohmann/json.hpp"

namespace normlab::server {
namespace {

// Probes that nobody asks for, which any run has recorded. (An evaluation knob of 0 asks for all.)
bool AsksNothing(std::string_view key, const nlohmann::json& asked) {
  return key.starts_with("probe.") && (asked == 0 || asked == false);
}

bool CadenceCovers(const nlohmann::json& recorded, const nlohmann::json& asked) {
  if (!recorded.is_number_integer() || !asked.is_number_integer()) return false;
  const auto often = recorded.get<int64_t>();
  const auto wanted = asked.get<int64_t>();
  return often > 0 && wanted > 0 && wanted % often == 0;
}

bool SameJson(const std::string& text, const nlohmann::json& document) {
  const auto parsed = ParseJson(text);
  return parsed.ok() && *parsed == document;
}

bool IsLinkable(const LinkCandidate& candidate, const nlohmann::json& observations,
                const nlohmann::json& stop) {
  const auto state = ParseRunState(candidate.state);
  if (!state.has_value() || *state == RunState::kFailed || *state == RunState::kCancelled) {
    return false;
  }
  const auto recorded = ParseJson(candidate.observations);
  return recorded.ok() && Covers(*recorded, observations) && SameJson(candidate.stop, stop);
}

}  // namespace

bool Covers(const nlohmann::json& recorded, const nlohmann::json& asked) {
  for (const auto& [key, wanted] : asked.items()) {
    if (AsksNothing(key, wanted)) continue;
    const auto has = recorded.find(key);
    if (has == recorded.end()) return false;
    if (*has == wanted) continue;
    if (!std::string_view(key).ends_with(".every") || !CadenceCovers(*has, wanted)) return false;
  }
  return true;
}

RunId FindLinkable(const std::vector<LinkCandidate>& candidates, const nlohmann::json& observations,
                   const nlohmann::json& stop) {
  RunId unfinished;
  for (const LinkCandidate& candidate : candidates) {
    if (!IsLinkable(candidate, observations, stop)) continue;
    if (candidate.state == ToString(RunState::kDone)) return candidate.run;
    if (!unfinished) unfinished = candidate.run;
  }
  return unfinished;
}

}  // namespace normlab::server
