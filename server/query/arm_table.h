#ifndef NORMLAB_SERVER_QUERY_ARM_TABLE_H_
#define NORMLAB_SERVER_QUERY_ARM_TABLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ids.h"

namespace normlab::server {

class ReadOnlyStore;

// One place that a cell has in a comparison. A cell that several combinations became has one for
// each level of theirs: with `by` norm.placement, peri = sandwich is in the arms of both.
struct ArmPlace {
  std::string arm;
  std::map<std::string, std::string> rest;  // the other factors that apply → level
};

struct ArmCell {
  std::string label;
  std::vector<std::string> names;
  std::string factors;  // JSON object
  bool baseline = false;
  std::vector<ArmPlace> places;  // in different arms
};

// The cells of a sweep and the arms that they make up.
struct ArmTable {
  std::map<int64_t, ArmCell> cells;  // by number
  std::set<std::string> factor_keys;
  std::string by;                                          // a factor's full key, or "cell"
  std::map<std::string, std::vector<std::string>> levels;  // of each arm: "peri", "sandwich"
};

// `by`: a factor ("placement" and "norm.placement" both mean norm.placement): one arm per level,
// and levels that mean the same cells are one arm, "peri = sandwich". "" or "cell": one arm per
// cell. InvalidArgument names the factors there are.
absl::StatusOr<ArmTable> ReadArmTable(ReadOnlyStore& store, SweepId sweep, const std::string& by);

// The arm that `asked` stands for: its label, one of its levels, or a name of one of its cells. "":
// the sweep's own baseline. InvalidArgument names the arms.
absl::StatusOr<std::string> FindBaseline(const ArmTable& table, const std::string& asked);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_ARM_TABLE_H_
