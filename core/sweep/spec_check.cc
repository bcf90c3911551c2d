#include "core/sweep/spec_check.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/check.h"
#include "core/strings.h"
#include "core/sweep/expansion.h"

namespace normlab {

namespace {

constexpr size_t kMaxCombinations = 100000;

std::string FactorNames(const SweepSpec& spec) {
  std::vector<std::string> names;
  for (const Factor& factor : spec.factors) names.push_back(factor.key);
  return names.empty() ? "this sweep has none" : Cat("the factors are ", Join(names, ", "));
}

std::string LevelNames(const Factor& factor) {
  std::vector<std::string> names;
  for (const KnobValue& level : factor.levels) {
    names.push_back(FormatValue(*FindKnob(factor.key), level));
  }
  return Join(names, ", ");
}

SourcePosition PositionOf(const SweepSpec& spec, std::string_view part) {
  const auto it = spec.positions.find(part);
  return it == spec.positions.end() ? SourcePosition{} : it->second;
}

void CheckZip(const SweepSpec& spec, ErrorSink& sink) {
  const SourcePosition position = PositionOf(spec, "zip");
  std::set<std::string> seen;
  for (const auto& group : spec.zip) {
    const Factor* const first = spec.FindFactor(group.front());
    for (const std::string& key : group) {
      const Factor* const factor = spec.FindFactor(key);
      if (factor == nullptr) {
        sink.Add(position, "zip: '", key, "' is no factor; ", FactorNames(spec));
      } else if (!seen.insert(key).second) {
        sink.Add(position, "zip: '", key, "' is there twice");
      } else if (first != nullptr && factor->levels.size() != first->levels.size()) {
        sink.Add(position, "zip: ", first->key, " has ", first->levels.size(), " levels and ", key,
                 " has ", factor->levels.size(), "; they move together, so should have as many");
      }
    }
  }
}

// Every key a factor. Values need not be levels: an exclusion may outlive an override.
void CheckSetting(const SweepSpec& spec, const Setting& setting, std::string_view part,
                  ErrorSink& sink) {
  for (const auto& [key, value] : setting.values) {
    if (spec.FindFactor(key) == nullptr) {
      sink.Add(setting.position, part, ": '", key, "' is no factor; ", FactorNames(spec));
    }
  }
}

void CheckBaseline(const SweepSpec& spec, ErrorSink& sink) {
  for (const auto& [key, value] : spec.baseline.values) {
    const Factor* const factor = spec.FindFactor(key);
    if (factor == nullptr) continue;  // said already
    if (std::find(factor->levels.begin(), factor->levels.end(), value) == factor->levels.end()) {
      sink.Add(spec.baseline.position, "baseline: no cell has ", key, " = ",
               FormatValue(*FindKnob(key), value), "; its levels are ", LevelNames(*factor));
    }
  }
}

void CheckPrimary(const SweepSpec& spec, ErrorSink& sink) {
  if (!spec.primary || spec.primary->contrast.empty()) return;
  if (spec.FindFactor(spec.primary->contrast) != nullptr) return;
  sink.Add(PositionOf(spec, "primary.contrast"), "primary: '", spec.primary->contrast,
           "' is no factor; ", FactorNames(spec));
}

// Where to look for the cause: the knob in question, as a factor or in base, else the one beside
// it.
SourcePosition CauseOf(const SweepSpec& spec, const ConfigError& error) {
  for (const std::string& key : {error.key, error.other_key}) {
    if (const Factor* factor = spec.FindFactor(key)) return factor->position;
    const SourcePosition in_base = PositionOf(spec, key);
    if (in_base.line > 0) return in_base;
  }
  return PositionOf(spec, "base");
}

std::string Describe(const Combination& combination) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : combination.values) {
    parts.push_back(Cat(key, " = ", FormatValue(*FindKnob(key), value)));
  }
  return parts.empty() ? "" : Cat(" (with ", Join(parts, ", "), ")");
}

bool TooManyCombinations(const SweepSpec& spec, ErrorSink& sink) {
  double combinations = 1;
  for (const Factor& factor : spec.factors) {
    combinations *= static_cast<double>(factor.levels.size());
  }
  for (const auto& group : spec.zip) {
    for (size_t i = 1; i < group.size(); ++i) {
      combinations /= static_cast<double>(spec.FindFactor(group[i])->levels.size());
    }
  }
  const double runs = combinations * static_cast<double>(spec.seeds.size());
  if (runs <= static_cast<double>(kMaxCombinations)) return false;
  sink.Add(PositionOf(spec, "factors"), "the factors and seeds cross to ", std::llround(runs),
           " runs; at most ", kMaxCombinations, " are allowed");
  return true;
}

// The first combination for each impossible thing: the others say the same.
void CheckConfigs(const SweepSpec& spec, const std::vector<Combination>& combinations,
                  ErrorSink& sink) {
  std::set<std::pair<std::string, std::string>> said;
  for (const Combination& combination : combinations) {
    RunConfig config = spec.base;
    for (const auto& [key, value] : combination.values) CHECK_OK(config.Set(key, value));
    for (const ConfigError& error : config.Validate()) {
      if (!said.emplace(error.key, error.message).second) continue;
      sink.Add(CauseOf(spec, error), error.key, ": ", error.message, Describe(combination));
    }
  }
}

}  // namespace

void CheckDatasetNamed(const SweepSpec& spec, ErrorSink& sink) {
  if (spec.FindFactor("data.name") != nullptr || !spec.base.Text("data.name").empty()) return;
  SourcePosition position = PositionOf(spec, "base");
  if (position.line == 0 && !spec.positions.empty()) position = {1, 1};
  sink.Add(position, "no data set is named; base should say which, such as data: {name: kjv}");
}

void CheckAgainstFactors(const SweepSpec& spec, ErrorSink& sink) {
  CheckZip(spec, sink);
  for (const Setting& setting : spec.exclude) CheckSetting(spec, setting, "exclude", sink);
  CheckSetting(spec, spec.baseline, "baseline", sink);
  CheckBaseline(spec, sink);
  CheckPrimary(spec, sink);
}

void CheckCombinations(const SweepSpec& spec, ErrorSink& sink) {
  if (TooManyCombinations(spec, sink)) return;
  std::vector<Combination> combinations = Combinations(spec);
  std::erase_if(combinations, [](const Combination& c) { return c.excluded; });
  if (combinations.empty()) {
    sink.Add(PositionOf(spec, "exclude"), "exclude leaves nothing: every combination is excluded");
    return;
  }
  CheckConfigs(spec, combinations, sink);
  if (std::none_of(combinations.begin(), combinations.end(),
                   [&spec](const Combination& c) { return Matches(c, spec.baseline); })) {
    sink.Add(spec.baseline.position, "baseline: every combination that matches it is excluded");
  }
}

std::vector<SpecError> SweepSpec::Check(std::string_view filename) const {
  std::vector<SpecError> errors;
  ErrorSink sink(filename, errors);
  CheckDatasetNamed(*this, sink);
  CheckAgainstFactors(*this, sink);
  if (errors.empty()) CheckCombinations(*this, sink);
  return errors;
}

std::vector<std::string> SweepSpec::Warnings() const {
  std::vector<std::string> warnings;
  for (const Setting& setting : exclude) {
    SweepSpec alone = *this;
    alone.exclude = {setting};
    const auto combinations = Combinations(alone);
    const bool matches = std::any_of(combinations.begin(), combinations.end(),
                                     [](const Combination& c) { return c.excluded; });
    if (matches) continue;
    std::vector<std::string> parts;
    for (const auto& [key, value] : setting.values) {
      parts.push_back(Cat(key, ": ", FormatValue(*FindKnob(key), value)));
    }
    warnings.push_back(Cat("exclude {", Join(parts, ", "), "} matches no combination"));
  }
  return warnings;
}

}  // namespace normlab
