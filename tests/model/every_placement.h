// The named placements as test parameters: INSTANTIATE_TEST_SUITE_P(All, Suite, EachPlacement(),
// PlacementTestName).
#ifndef NORMLAB_TESTS_MODEL_EVERY_PLACEMENT_H_
#define NORMLAB_TESTS_MODEL_EVERY_PLACEMENT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/placement_table.h"

namespace normlab::model {

inline auto EachPlacement() {
  std::vector<std::string> names;
  for (const Placement& row : PlacementTable()) names.emplace_back(row.name);
  return testing::ValuesIn(names);
}

// GoogleTest allows no hyphen in a name.
inline std::string PlacementTestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace normlab::model

#endif  // NORMLAB_TESTS_MODEL_EVERY_PLACEMENT_H_
