#include <algorithm>

#include "core/sweep/expansion.h"

namespace normlab {

namespace {

// Factors that move together; a factor of its own is a group of one.
using Group = std::vector<const Factor*>;

std::vector<Group> GroupsOf(const SweepSpec& spec) {
  std::vector<Group> groups;
  std::vector<std::string> taken;
  for (const Factor& factor : spec.factors) {
    if (std::find(taken.begin(), taken.end(), factor.key) != taken.end()) continue;
    Group group = {&factor};
    for (const auto& zipped : spec.zip) {
      if (std::find(zipped.begin(), zipped.end(), factor.key) == zipped.end()) continue;
      group.clear();
      for (const std::string& key : zipped) {
        group.push_back(spec.FindFactor(key));
        taken.push_back(key);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// Values in the order in which the factors are listed, whatever was zipped.
void SortByFactor(const SweepSpec& spec, Combination& combination) {
  std::sort(combination.values.begin(), combination.values.end(),
            [&spec](const auto& a, const auto& b) {
              return spec.FindFactor(a.first) < spec.FindFactor(b.first);
            });
}

}  // namespace

bool Matches(const Combination& combination, const Setting& setting) {
  return std::all_of(setting.values.begin(), setting.values.end(), [&](const auto& wanted) {
    return std::find(combination.values.begin(), combination.values.end(), wanted) !=
           combination.values.end();
  });
}

std::vector<Combination> Combinations(const SweepSpec& spec) {
  std::vector<Combination> combinations(1);
  for (const Group& group : GroupsOf(spec)) {
    std::vector<Combination> longer;
    for (const Combination& shorter : combinations) {
      for (size_t level = 0; level < group.front()->levels.size(); ++level) {
        Combination combination = shorter;
        for (const Factor* factor : group) {
          combination.values.emplace_back(factor->key, factor->levels[level]);
        }
        longer.push_back(std::move(combination));
      }
    }
    combinations = std::move(longer);
  }
  for (Combination& combination : combinations) {
    SortByFactor(spec, combination);
    combination.excluded = std::any_of(
        spec.exclude.begin(), spec.exclude.end(),
        [&combination](const Setting& setting) { return Matches(combination, setting); });
  }
  return combinations;
}

}  // namespace normlab
