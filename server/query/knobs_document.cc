#include "server/query/knobs_document.h"

#include <string>
#include <utility>

#include "core/json.h"
#include "core/knob.h"
#include "nlohmann/json.hpp"

namespace normlab::server {

using nlohmann::json;

namespace {

json ValueJson(const KnobValue& value) {
  return std::visit(
      [](const auto& held) -> json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, double>) {
          return NumberOrMarker(held);
        } else {
          return held;
        }
      },
      value);
}

json KnobObject(const Knob& knob) {
  json object = {{"key", knob.key},
                 {"type", ToString(knob.type)},
                 {"unit", knob.unit},
                 {"default", ValueJson(knob.default_value)},
                 {"default_note", knob.default_note},
                 {"range", DescribeRange(knob)},
                 {"affects", ToString(knob.affects)},
                 {"applies", knob.applies_note},
                 {"help", knob.help}};
  if (knob.type == KnobType::kChoice) object["choices"] = knob.choices;
  return object;
}

}  // namespace

json KnobsDocument() {
  json knobs = json::array();
  for (const Knob& knob : Knobs()) knobs.push_back(KnobObject(knob));
  return json{{"schema", "normlab.knobs.v1"}, {"knobs", std::move(knobs)}};
}

}  // namespace normlab::server
