#include "cli/knob_schema.h"

#include <cmath>

#include "core/json.h"
#include "core/knob.h"
#include "core/run_config.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

json ValueJson(const KnobValue& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

std::string DefaultText(const Knob& knob) {
  if (!knob.default_note.empty()) return std::string(knob.default_note);
  return FormatValue(knob, knob.default_value);
}

std::string_view SchemaType(KnobType type) {
  switch (type) {
    case KnobType::kBool:
      return "boolean";
    case KnobType::kInt:
      return "integer";
    case KnobType::kReal:
      return "number";
    case KnobType::kChoice:
    case KnobType::kText:
      return "string";
  }
  return "string";
}

json KnobSchema(const Knob& knob) {
  json schema = {{"description", std::string(knob.help)}};
  if (knob.default_note.empty()) schema["default"] = ValueJson(knob.default_value);
  if (knob.type == KnobType::kChoice) {
    schema["enum"] = json::array();
    for (std::string_view choice : knob.choices) schema["enum"].push_back(std::string(choice));
    return schema;
  }
  const json type = std::string(SchemaType(knob.type));
  schema["type"] = knob.off_word.empty() ? type : json::array({type, "string"});
  if (knob.type != KnobType::kInt && knob.type != KnobType::kReal) return schema;
  if (std::isfinite(knob.min)) {
    schema[knob.min_open ? "exclusiveMinimum" : "minimum"] = knob.min;
  }
  if (std::isfinite(knob.max)) schema["maximum"] = knob.max;
  return schema;
}

}  // namespace

json KnobRows(const std::string& filter) {
  json rows = json::array();
  for (const Knob& knob : Knobs()) {
    if (knob.key.find(filter) == std::string_view::npos) continue;
    rows.push_back({{"key", std::string(knob.key)},
                    {"type", std::string(ToString(knob.type))},
                    {"unit", std::string(knob.unit)},
                    {"default", DefaultText(knob)},
                    {"range", DescribeRange(knob)},
                    {"affects", std::string(ToString(knob.affects))},
                    {"applies_to", std::string(knob.applies_note)},
                    {"help", std::string(knob.help)}});
  }
  return rows;
}

json KnobJsonSchema() {
  json properties = json::object();
  for (const Knob& knob : Knobs()) {
    const size_t dot = knob.key.find('.');
    if (dot == std::string_view::npos) {
      // `seed` alone, or `seed.init` and `seed.data` apart.
      properties[std::string(knob.key)] = KnobSchema(knob);
      continue;
    }
    const std::string group(knob.key.substr(0, dot));
    if (properties.contains(group) && !properties[group].contains("properties")) {
      properties[std::string(knob.key)] = KnobSchema(knob);
      continue;
    }
    json& object = properties[group];
    object["type"] = "object";
    object["additionalProperties"] = false;
    object["properties"][std::string(knob.key.substr(dot + 1))] = KnobSchema(knob);
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "normlab run config"},
          {"type", "object"},
          {"additionalProperties", false},
          {"properties", properties}};
}

}  // namespace normlab::cli
