#include "server/query/arm_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "server/store/read_only_store.h"
#include "server/store/store.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A sweep over placement and Δt whose cells a test writes as (label, names, combinations).
class ArmTableTest : public testing::Test {
 protected:
  void AddCells(const std::vector<std::vector<std::string>>& cells) {
    RunChanges changes;
    SweepRow sweep;
    sweep.id = SweepId(1);
    sweep.name = "s";
    sweep.spec = R"({"factors": [{"norm.placement": []}, {"residual.dt": []}]})";
    sweep.answer = "{}";
    changes.sweeps = {sweep};
    for (const auto& cell : cells) {
      const CellNumber number(static_cast<int>(changes.cells.size()) + 1);
      const nlohmann::json combinations = nlohmann::json::parse(cell.at(2));
      changes.cells.push_back({SweepId(1), number, cell.at(0), cell.at(1), combinations[0].dump(),
                               combinations.dump(), number == CellNumber(1)});
    }
    ASSERT_THAT((*Store::Open({dir_.File("normlab.db")}))->runs().Commit(changes), IsOk());
  }
  absl::StatusOr<ArmTable> Read(const std::string& by) {
    return ReadArmTable(**ReadOnlyStore::Open(dir_.File("normlab.db")), SweepId(1), by);
  }
  // Arms of a cell.
  static std::vector<std::string> ArmsOf(const ArmTable& table, int64_t cell) {
    std::vector<std::string> arms;
    for (const ArmPlace& place : table.cells.at(cell).places) arms.push_back(place.arm);
    return arms;
  }

  TempDir dir_;
};

constexpr char kPre[] = R"([{"norm.placement": "pre", "residual.dt": 0.1}])";
constexpr char kPeri[] = R"([{"norm.placement": "peri", "residual.dt": 0.1},
                             {"norm.placement": "sandwich", "residual.dt": 0.1}])";
constexpr char kGeo[] = R"([{"norm.placement": "geo"}])";

TEST_F(ArmTableTest, LevelsThatMeanTheSameCellsAreOneArm) {
  AddCells({{"pre dt=0.1", R"(["pre dt=0.1"])", kPre},
            {"peri dt=0.1 = sandwich dt=0.1", R"(["peri dt=0.1", "sandwich dt=0.1"])", kPeri},
            {"geo", R"(["geo"])", kGeo}});
  const auto table = Read("placement");
  ASSERT_THAT(table, IsOk());
  EXPECT_EQ(table->by, "norm.placement");
  EXPECT_THAT(ArmsOf(*table, 1), ElementsAre("pre"));
  EXPECT_THAT(ArmsOf(*table, 2), ElementsAre("peri = sandwich"));
  EXPECT_THAT(table->cells.at(2).places[0].rest, ElementsAre(Pair("residual.dt", "0.1")));
  EXPECT_THAT(table->cells.at(3).places[0].rest, IsEmpty());
  for (const char* name : {"peri = sandwich", "peri", "sandwich", "sandwich dt=0.1"}) {
    EXPECT_EQ(FindBaseline(*table, name).value_or("none"), "peri = sandwich") << name;
  }
  EXPECT_EQ(*FindBaseline(*table, ""), "pre");
  EXPECT_THAT(FindBaseline(*table, "sandwhich"),
              IsStatusWith(absl::StatusCode::kInvalidArgument, "geo, peri = sandwich, pre"));
}

TEST_F(ArmTableTest, AMergedCellIsInTheArmOfEachOfItsLevels) {
  AddCells({{"pre dt=0.1", R"(["pre dt=0.1"])", kPre},
            {"peri dt=0.1 = sandwich dt=0.1", R"(["peri dt=0.1", "sandwich dt=0.1"])", kPeri},
            {"sandwich dt=1", R"(["sandwich dt=1"])",
             R"([{"norm.placement": "sandwich", "residual.dt": 1.0}])"}});
  const ArmTable table = *Read("norm.placement");
  EXPECT_THAT(ArmsOf(table, 2), ElementsAre("peri", "sandwich"));
  EXPECT_THAT(ArmsOf(table, 3), ElementsAre("sandwich"));
  // By the other factor it is in one arm, once.
  EXPECT_THAT(ArmsOf(*Read("dt"), 2), ElementsAre("0.1"));
}

TEST_F(ArmTableTest, WhatDoesNotApplyIsAnArmOfItsOwn) {
  AddCells({{"pre dt=0.1", R"(["pre dt=0.1"])", kPre}, {"geo", R"(["geo"])", kGeo}});
  EXPECT_THAT(ArmsOf(*Read("residual.dt"), 2), ElementsAre("does not apply"));
  EXPECT_THAT(Read("lr"), IsStatusWith(absl::StatusCode::kInvalidArgument,
                                       "factors are norm.placement, residual.dt"));
}

TEST_F(ArmTableTest, ByCellEveryNameLeadsToIt) {
  AddCells({{"pre dt=0.1", R"(["pre dt=0.1"])", kPre},
            {"peri dt=0.1 = sandwich dt=0.1", R"(["peri dt=0.1", "sandwich dt=0.1"])", kPeri}});
  const ArmTable table = *Read("");
  EXPECT_EQ(table.by, "cell");
  EXPECT_EQ(*FindBaseline(table, "sandwich dt=0.1"), "peri dt=0.1 = sandwich dt=0.1");
}

}  // namespace
}  // namespace normlab::server
