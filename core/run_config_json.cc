// RunConfig as JSON: read in any nesting, written by group, and the canonical form of its identity.

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json.h"
#include "core/run_config.h"
#include "core/sha256.h"
#include "core/strings.h"

namespace normlab {

namespace {

using nlohmann::json;

bool ToKnobValue(const json& value, KnobValue& out) {
  if (value.is_boolean()) {
    out = value.get<bool>();
  } else if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) {
    out = value.get<double>();
  } else if (value.is_number_integer()) {
    out = value.get<int64_t>();
  } else if (value.is_number_float()) {
    out = value.get<double>();
  } else if (value.is_string()) {
    out = value.get<std::string>();
  } else {
    return false;
  }
  return true;
}

void ReadObject(const json& object, const std::string& prefix, RunConfig& config,
                std::vector<ConfigError>& errors) {
  for (const auto& [name, value] : object.items()) {
    const std::string key = prefix + name;
    if (value.is_object()) {
      ReadObject(value, key + ".", config, errors);
      continue;
    }
    KnobValue knob_value;
    if (FindKnob(key) != nullptr && !ToKnobValue(value, knob_value)) {
      errors.push_back(
          {key, Cat("found ", DumpStrict(value), "; should be ", DescribeRange(*FindKnob(key)))});
      continue;
    }
    const absl::Status set = config.Set(key, knob_value);
    if (set.ok()) continue;
    std::string message(set.message());
    const std::string context = key + ": ";
    if (message.starts_with(context)) message.erase(0, context.size());
    errors.push_back({key, message});
  }
}

json ToJsonValue(const KnobValue& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

// Seeds are one number unless they were set apart.
void PutSeeds(const RunConfig& config, json& document) {
  const int64_t init = config.Int("seed.init");
  const int64_t data = config.Int("seed.data");
  if (init == data) {
    document["seed"] = init;
  } else {
    document["seed"] = {{"init", init}, {"data", data}};
  }
}

std::string CanonicalValue(const KnobValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return ShortestDouble(*real);
  return DumpStrict(ToJsonValue(value));
}

// The same computation under its plainest name.
RunConfig Plainest(const RunConfig& config) {
  RunConfig plain = config;
  const std::string placement = config.Text("norm.placement");
  if (placement == "sandwich" && !config.Bool("norm.pb_relax")) {
    CHECK_OK(plain.Set("norm.placement", KnobValue("peri")));
  } else if (placement == "sphere") {
    CHECK_OK(plain.Set("norm.placement", KnobValue("geo")));
    CHECK_OK(plain.Set("norm.decay", KnobValue("none")));
    CHECK_OK(plain.Set("norm.angle", KnobValue("adaptive")));
  }
  return plain;
}

}  // namespace

RunConfig RunConfig::FromJson(const json& document, std::vector<ConfigError>& errors) {
  RunConfig config;
  if (!document.is_object()) {
    errors.push_back({"config", Cat("found ", DumpStrict(document), "; should be an object")});
    return config;
  }
  ReadObject(document, "", config, errors);
  return config;
}

absl::StatusOr<RunConfig> RunConfig::FromJson(const json& document) {
  std::vector<ConfigError> errors;
  RunConfig config = FromJson(document, errors);
  for (ConfigError& error : config.Validate()) errors.push_back(std::move(error));
  if (!errors.empty()) return absl::InvalidArgumentError(JoinErrors(errors));
  return config;
}

json RunConfig::ToJson() const {
  json document = json::object();
  for (const Knob& knob : Knobs()) {
    if (!Applies(knob.key) || knob.key.starts_with("seed")) continue;
    const size_t dot = knob.key.find('.');
    const std::string group(knob.key.substr(0, dot));
    document[group][std::string(knob.key.substr(dot + 1))] = ToJsonValue(Value(knob.key));
  }
  PutSeeds(*this, document);
  return document;
}

json RunConfig::ToFlatJson() const {
  json document = json::object();
  for (const Knob& knob : Knobs()) document[std::string(knob.key)] = ToJsonValue(Value(knob.key));
  return document;
}

std::string RunConfig::CanonicalJson(std::string_view dataset_sha256, int trainer_math) const {
  const RunConfig plain = Plainest(*this);
  std::map<std::string_view, std::string> members;
  for (const Knob& knob : Knobs()) {
    if (knob.affects != Affects::kResult || !plain.Applies(knob.key)) continue;
    const KnobValue value = plain.Value(knob.key);
    if (value != knob.identity_default) members.emplace(knob.key, CanonicalValue(value));
  }
  std::vector<std::string> parts;
  for (const auto& [key, value] : members) parts.push_back(Cat("\"", key, "\":", value));
  return Cat("{\"config\":{", Join(parts, ","),
             "},\"dataset\":", DumpStrict(json(std::string(dataset_sha256))),
             ",\"trainer_math\":", trainer_math, "}");
}

std::string RunConfig::Identity(std::string_view dataset_sha256, int trainer_math) const {
  return Sha256Hex(CanonicalJson(dataset_sha256, trainer_math)).substr(0, 16);
}

json RunConfig::Observations() const {
  json document = json::object();
  for (const Knob& knob : Knobs()) {
    if (knob.affects == Affects::kObservation) {
      document[std::string(knob.key)] = ToJsonValue(Value(knob.key));
    }
  }
  return document;
}

}  // namespace normlab
