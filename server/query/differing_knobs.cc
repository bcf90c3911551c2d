#include "server/query/differing_knobs.h"

#include "core/knob.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::server {

using nlohmann::json;

std::vector<std::string> DifferingKnobs(const json& a, const json& b,
                                        const std::set<std::string>& except) {
  std::vector<std::string> differing;
  for (const auto& [group, knobs] : a.items()) {
    if (!knobs.is_object() || !b.contains(group)) continue;
    for (const auto& [name, value] : knobs.items()) {
      const std::string key = Cat(group, ".", name);
      const Knob* knob = FindKnob(key);
      if (knob == nullptr || knob->affects != Affects::kResult || except.contains(key)) continue;
      const auto other = b.at(group).find(name);
      if (other != b.at(group).end() && *other != value) differing.push_back(key);
    }
  }
  return differing;
}

}  // namespace normlab::server
