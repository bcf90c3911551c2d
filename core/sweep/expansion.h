#ifndef NORMLAB_CORE_SWEEP_EXPANSION_H_
#define NORMLAB_CORE_SWEEP_EXPANSION_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/run_config.h"
#include "core/sweep/sweep_spec.h"

namespace normlab {

// What expansion needs to know about a data set.
struct DatasetFacts {
  std::string name;
  std::string sha256;
  int64_t vocab = 0;
};
using DatasetCatalog = std::map<std::string, DatasetFacts, std::less<>>;  // by name

struct Cell {
  CellNumber number;               // from 1, in order of first appearance
  std::string label;               // names joined by " = "
  std::vector<std::string> names;  // of the combinations that became this cell: "peri", "sandwich"
  // Factor → level as text, for the factors that apply, in factor order: one for each different
  // combination that became this cell (peri, then sandwich). Never empty.
  using Factors = std::vector<std::pair<std::string, std::string>>;
  std::vector<Factors> combinations;
  const Factors& factors() const { return combinations.front(); }
  RunConfig config;  // of the first combination, without a seed
  bool baseline = false;
};

struct Member {
  CellNumber cell;
  int64_t seed = 0;
  RunConfig
      config;  // with the seed, precision resolved and, when the data set is known, the vocabulary
  std::string dataset_name;
  std::string dataset_sha256;  // empty: the data set is not in the catalog
  std::string identity;        // 16 hex digits
  std::string canonical_json;
};

struct Merge {  // several combinations are one config
  CellNumber cell;
  std::vector<std::string> names;
  int combinations = 0;
  std::vector<std::string> ignored_factors;  // that do not apply to the cell
};

struct Expansion {
  int64_t combinations = 0;  // full factorial, zips respected
  int64_t excluded = 0;
  std::vector<Cell> cells;
  std::vector<Member> members;  // by cell, then seed
  std::vector<Merge> merges;
  std::vector<std::string> missing_datasets;  // names that the catalog lacks

  // "12 combinations, 1 excluded, 8 cells × 3 seeds = 24 runs".
  std::string Summary() const;
};

// Expands in a fixed order: factors nest as listed, the last one fastest; zipped factors take the
// place of the first of them; exclusions act on combinations, then equal configs merge. The same
// spec and catalog give the same expansion, byte for byte. `spec` has passed Check().
Expansion Expand(const SweepSpec& spec, const DatasetCatalog& datasets = {});

// One factor combination before exclusion and merging.
struct Combination {
  std::vector<std::pair<std::string, KnobValue>> values;  // in factor order
  bool excluded = false;
};
std::vector<Combination> Combinations(const SweepSpec& spec);

// Whether the combination has every value of the setting.
bool Matches(const Combination& combination, const Setting& setting);

}  // namespace normlab

#endif  // NORMLAB_CORE_SWEEP_EXPANSION_H_
