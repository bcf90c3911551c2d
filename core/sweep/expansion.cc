#include "core/sweep/expansion.h"

#include <algorithm>

#include "core/check.h"
#include "core/strings.h"

namespace normlab {

namespace {

std::string_view LastPart(std::string_view key) { return key.substr(key.rfind('.') + 1); }

// "auto" becomes what it means for these resources, once and for all.
void SettlePrecision(const SweepSpec& spec, RunConfig& config) {
  if (config.Text("train.precision") != "auto") return;
  const char* const precision = spec.resources.gpus > 0 ? "bf16" : "fp32";
  CHECK_OK(config.Set("train.precision", KnobValue(precision)));
}

const DatasetFacts* FindDataset(const DatasetCatalog& datasets, const std::string& name) {
  const auto it = datasets.find(name);
  return it == datasets.end() ? nullptr : &it->second;
}

class Expander {
 public:
  Expander(const SweepSpec& spec, const DatasetCatalog& datasets)
      : spec_(spec), datasets_(datasets) {}

  Expansion Run() {
    for (const Combination& combination : Combinations(spec_)) {
      ++result_.combinations;
      if (combination.excluded) {
        ++result_.excluded;
      } else {
        AddCombination(combination);
      }
    }
    for (Cell& cell : result_.cells) {
      cell.label = Join(cell.names, " = ");
      for (int64_t seed : spec_.seeds) AddMember(cell, seed);
    }
    for (size_t i = 0; i < result_.cells.size(); ++i) AddMerge(result_.cells[i], combinations_[i]);
    return std::move(result_);
  }

 private:
  void AddCombination(const Combination& combination) {
    RunConfig config = spec_.base;
    for (const auto& [key, value] : combination.values) CHECK_OK(config.Set(key, value));
    SettlePrecision(spec_, config);
    const std::string name = config.Text("data.name");
    const DatasetFacts* const facts = FindDataset(datasets_, name);
    if (facts != nullptr) {
      CHECK_OK(config.Set("model.vocab", KnobValue(config.VocabFor(facts->vocab))));
    } else if (std::find(result_.missing_datasets.begin(), result_.missing_datasets.end(), name) ==
               result_.missing_datasets.end()) {
      result_.missing_datasets.push_back(name);
    }
    // Without facts the name stands for the content.
    const std::string canonical = config.CanonicalJson(facts != nullptr ? facts->sha256 : name);
    const auto [it, fresh] = index_.emplace(canonical, result_.cells.size());
    if (fresh) AddCell(config);
    Cell& cell = result_.cells[it->second];
    ++combinations_[it->second];
    const std::string cell_name = NameOf(combination, config);
    if (std::find(cell.names.begin(), cell.names.end(), cell_name) == cell.names.end()) {
      cell.names.push_back(cell_name);
    }
    const Cell::Factors factors = FactorsOf(combination, config);
    if (std::find(cell.combinations.begin(), cell.combinations.end(), factors) ==
        cell.combinations.end()) {
      cell.combinations.push_back(factors);
    }
    if (!has_baseline_ && IsBaseline(combination)) cell.baseline = has_baseline_ = true;
  }

  static Cell::Factors FactorsOf(const Combination& combination, const RunConfig& config) {
    Cell::Factors factors;
    for (const auto& [key, value] : combination.values) {
      if (config.Applies(key)) factors.emplace_back(key, config.ValueText(key));
    }
    return factors;
  }

  void AddCell(const RunConfig& config) {
    Cell cell;
    cell.number = CellNumber(static_cast<int>(result_.cells.size()) + 1);
    cell.config = config;
    result_.cells.push_back(std::move(cell));
    combinations_.push_back(0);
  }

  void AddMember(const Cell& cell, int64_t seed) {
    Member member;
    member.cell = cell.number;
    member.seed = seed;
    member.config = cell.config;
    CHECK_OK(member.config.Set(spec_.replicate_key, KnobValue(seed)));
    member.dataset_name = member.config.Text("data.name");
    if (const DatasetFacts* facts = FindDataset(datasets_, member.dataset_name)) {
      member.dataset_sha256 = facts->sha256;
    }
    member.canonical_json = member.config.CanonicalJson(member.dataset_sha256);
    member.identity = member.config.Identity(member.dataset_sha256);
    result_.members.push_back(std::move(member));
  }

  void AddMerge(const Cell& cell, int combinations) {
    if (combinations < 2) return;
    Merge merge{cell.number, cell.names, combinations, {}};
    for (const Factor& factor : spec_.factors) {
      if (!cell.config.Applies(factor.key)) merge.ignored_factors.push_back(factor.key);
    }
    result_.merges.push_back(std::move(merge));
  }

  bool IsBaseline(const Combination& combination) const {
    const auto& wanted = spec_.baseline.values;
    return std::all_of(wanted.begin(), wanted.end(), [&combination](const auto& setting) {
      return std::find(combination.values.begin(), combination.values.end(), setting) !=
             combination.values.end();
    });
  }

  // "geo", "geo decay=sqrt": the placement and what else is varied and applies.
  std::string NameOf(const Combination& combination, const RunConfig& config) const {
    std::vector<std::string> parts;
    for (const auto& [key, value] : combination.values) {
      if (!config.Applies(key) || spec_.FindFactor(key)->levels.size() < 2) continue;
      const std::string text = config.ValueText(key);
      parts.push_back(key == "norm.placement" ? text : Cat(ShortKey(key), "=", text));
    }
    return parts.empty() ? config.Text("norm.placement") : Join(parts, " ");
  }

  // The last part of the key, or all of it where two factors end alike.
  std::string_view ShortKey(std::string_view key) const {
    const auto alike = std::count_if(
        spec_.factors.begin(), spec_.factors.end(),
        [key](const Factor& factor) { return LastPart(factor.key) == LastPart(key); });
    return alike > 1 ? key : LastPart(key);
  }

  const SweepSpec& spec_;
  const DatasetCatalog& datasets_;
  Expansion result_;
  std::map<std::string, size_t> index_;  // canonical JSON → cell
  std::vector<int> combinations_;        // of each cell
  bool has_baseline_ = false;
};

std::string Count(size_t count, std::string_view noun) {
  return Cat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace

Expansion Expand(const SweepSpec& spec, const DatasetCatalog& datasets) {
  return Expander(spec, datasets).Run();
}

std::string Expansion::Summary() const {
  std::string text = Count(static_cast<size_t>(combinations), "combination");
  if (excluded > 0) text += Cat(", ", excluded, " excluded");
  const size_t seeds = cells.empty() ? 0 : members.size() / cells.size();
  return Cat(text, ", ", Count(cells.size(), "cell"), " × ", Count(seeds, "seed"), " = ",
             Count(members.size(), "run"));
}

}  // namespace normlab
