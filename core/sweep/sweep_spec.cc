#include "core/sweep/sweep_spec.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/check.h"
#include "core/file.h"
#include "core/selector.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/sweep/expansion.h"
#include "core/sweep/levels.h"
#include "core/sweep/source_node.h"
#include "core/sweep/spec_check.h"
#include "core/sweep/spec_reader.h"

namespace normlab {

namespace {

using nlohmann::json;

// A base seed without replicates is the one replicate; the seed of both is a contradiction.
void SettleSeeds(SweepSpec& spec, ErrorSink& sink) {
  const bool replicated = spec.positions.find("replicates") != spec.positions.end();
  const std::string& key = spec.replicate_key;
  if (!spec.base.IsSet(key)) return;
  if (replicated) {
    sink.Add(spec.positions[key], "'", key, "' is given in base and in replicates; one is enough");
  } else {
    spec.seeds = {spec.base.Int(key)};
  }
  spec.base.Unset(key);
}

void SortByPlace(std::vector<SpecError>& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const SpecError& a, const SpecError& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
}

std::optional<SweepSpec> FromSource(const SourceNode& source, std::string_view filename,
                                    std::vector<SpecError>& errors) {
  SweepSpec spec;
  spec.name = std::filesystem::path(filename).stem().string();
  ErrorSink sink(filename, errors);
  SpecReader reader(spec, sink);
  reader.Read(source);
  SettleSeeds(spec, sink);
  // Only what is no mere consequence of a part that could not be read.
  if (reader.base_sound() && reader.factors_sound()) CheckDatasetNamed(spec, sink);
  if (reader.factors_sound()) CheckAgainstFactors(spec, sink);
  if (errors.empty()) CheckCombinations(spec, sink);
  SortByPlace(errors);
  if (!errors.empty()) return std::nullopt;
  return spec;
}

// A spec with nothing but the factor, or the seeds, of one override.
absl::StatusOr<SweepSpec> ReadOverride(const std::string& key, std::string_view values) {
  json levels = json::array();
  for (std::string_view value : Split(values, ',')) {
    levels.push_back(std::string(StripSpace(value)));
  }
  const bool seeds = key == "seed" || key == "seed.init" || key == "seed.data";
  const json document = {{seeds ? "replicates" : "factors", {{key, levels}}}};
  SweepSpec change;
  std::vector<SpecError> errors;
  ErrorSink sink("", errors);
  SpecReader(change, sink).Read(SourceFromJson(document));
  if (!errors.empty()) return InvalidArgument("-S: ", errors.front().message);
  return change;
}

json ValueToJson(const KnobValue& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

json SettingToJson(const Setting& setting) {
  json object = json::object();
  for (const auto& [key, value] : setting.values) object[key] = ValueToJson(value);
  return object;
}

}  // namespace

std::string SpecError::ToString() const {
  std::string place = file;
  if (line > 0) place += Cat(":", line, ":", column);
  return place.empty() ? message : Cat(place, ": ", message);
}

std::optional<SweepSpec> SweepSpec::ParseYaml(std::string_view text, std::string_view filename,
                                              std::vector<SpecError>& errors) {
  errors.clear();
  const auto source = ParseSource(text, filename, errors);
  if (!source) return std::nullopt;
  return FromSource(*source, filename, errors);
}

std::optional<SweepSpec> SweepSpec::ParseFile(const std::string& path,
                                              std::vector<SpecError>& errors) {
  errors.clear();
  const auto text = ReadFile(path);
  if (!text.ok()) {
    errors.push_back({"", 0, 0, std::string(text.status().message())});
    return std::nullopt;
  }
  return ParseYaml(*text, path, errors);
}

const Factor* SweepSpec::FindFactor(std::string_view key) const {
  const auto it = std::find_if(factors.begin(), factors.end(),
                               [key](const Factor& factor) { return factor.key == key; });
  return it == factors.end() ? nullptr : &*it;
}

absl::Status SweepSpec::ApplyOverride(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return InvalidArgument("'-S ", text, "': should be key=value or key=value,value");
  }
  const std::string key(StripSpace(text.substr(0, equals)));
  ASSIGN_OR_RETURN(SweepSpec change, ReadOverride(key, text.substr(equals + 1)));
  if (change.factors.empty()) {
    replicate_key = change.replicate_key;
    seeds = change.seeds;
    return absl::OkStatus();
  }
  Factor& factor = change.factors.front();
  const auto it = std::find_if(factors.begin(), factors.end(),
                               [&key](const Factor& old) { return old.key == key; });
  if (it != factors.end()) {
    it->levels = std::move(factor.levels);
  } else {
    factors.push_back(std::move(factor));
  }
  return absl::OkStatus();
}

absl::Status SweepSpec::SetSeeds(int64_t n) {
  constexpr int64_t kMost = 10000;
  if (n < 1 || n > kMost) {
    return InvalidArgument("--seeds ", n, ": should be from 1 to ", kMost);
  }
  seeds.resize(static_cast<size_t>(n));
  std::iota(seeds.begin(), seeds.end(), 1);
  return absl::OkStatus();
}

absl::Status SweepSpec::SetName(std::string_view new_name) {
  if (!IsSweepName(new_name)) {
    return InvalidArgument("'", new_name,
                           "' cannot name a sweep: letters, digits, '-', '_' and '.', and not the "
                           "form of an id");
  }
  name = new_name;
  return absl::OkStatus();
}

json SweepSpec::ToJson() const {
  json document = {{"name", name}, {"zip", zip}, {"replicates", {{replicate_key, seeds}}}};
  document["base"] = json::object();
  for (const auto& [key, value] : base.Assignments()) document["base"][key] = ValueToJson(value);
  // A list, since the order counts and a JSON object has none.
  document["factors"] = json::array();
  for (const Factor& factor : factors) {
    json levels = json::array();
    for (const KnobValue& level : factor.levels) levels.push_back(ValueToJson(level));
    document["factors"].push_back({{factor.key, levels}});
  }
  document["exclude"] = json::array();
  for (const Setting& setting : exclude) document["exclude"].push_back(SettingToJson(setting));
  document["baseline"] = SettingToJson(baseline);
  document["stop"] = normlab::ToJson(stop);
  if (primary) {
    document["primary"] = {{"metric", primary->metric}, {"alpha", primary->alpha}};
    if (!primary->contrast.empty()) document["primary"]["contrast"] = primary->contrast;
  }
  document["budget"] = {{"failures", budget.failures},
                        {"preemptions", budget.preemptions},
                        {"time", budget.time_s},
                        {"stall", budget.stall_s}};
  if (budget.preemptions < 0) document["budget"]["preemptions"] = "unlimited";
  document["resources"] = {
      {"gpus", resources.gpus}, {"cpus", resources.cpus}, {"memory", resources.memory_bytes}};
  return document;
}

absl::StatusOr<SweepSpec> SweepSpec::FromJson(const json& document) {
  std::vector<SpecError> errors;
  auto spec = FromSource(SourceFromJson(document), "", errors);
  if (spec) return *std::move(spec);
  std::vector<std::string> lines;
  for (const SpecError& error : errors) lines.push_back(error.ToString());
  return absl::InvalidArgumentError(Join(lines, "\n"));
}

}  // namespace normlab
