#include "cli/where.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

json Row() {
  return json::parse(R"({"id": "r7", "state": "done", "val_loss": 2.5, "train_loss": "nan",
      "outcome": null, "linked": true, "seed": 3,
      "factors": {"norm.placement": "geo", "residual.dt": "0.1"}})");
}

// peri = sandwich is one cell under two names.
TEST(Where, AMergedRowMatchesUnderEachOfItsNames) {
  json row = Row();
  row["factors"] = {{"norm.placement", "peri"}};
  row["combinations"] = {{{"norm.placement", "peri"}}, {{"norm.placement", "sandwich"}}};
  for (const char* text : {"placement = 'peri'", "placement = 'sandwich' and loss < 3"}) {
    EXPECT_TRUE(Where::Parse(text)->Matches(row)) << text;
  }
  EXPECT_FALSE(Where::Parse("placement = 'geo'")->Matches(row));
  EXPECT_FALSE(Where::Parse("placement = 'peri' and placement = 'sandwich'")->Matches(row));
}

TEST(Where, SaysWhichColumnsItAsksFor) {
  EXPECT_EQ(Where::Parse("loss < 3 and (placement = 'geo' or not loss is null)")->Names(),
            (std::set<std::string>{"loss", "placement"}));
}

struct Case {
  std::string text;
  bool matches;
};

class WhereMatches : public testing::TestWithParam<Case> {};

TEST_P(WhereMatches, Row) {
  const absl::StatusOr<Where> where = Where::Parse(GetParam().text);
  ASSERT_TRUE(where.ok()) << where.status();
  EXPECT_EQ(where->Matches(Row()), GetParam().matches) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Expressions, WhereMatches,
    testing::Values(Case{"loss < 3", true}, Case{"loss < 2.5", false}, Case{"loss <= 2.5", true},
                    Case{"val_loss >= 2.5 and placement = 'geo'", true},
                    Case{"norm.placement != 'geo'", false},
                    Case{"placement = 'pre' or seed = 3", true},
                    Case{"placement = 'pre' or seed = 4 and loss < 3", false},
                    Case{"(placement = 'pre' or seed = 3) and loss < 3", true},
                    Case{"not placement = 'pre'", true}, Case{"dt < 0.5", true},
                    Case{"dt = 0.1", true}, Case{"outcome is null", true},
                    Case{"outcome is not null", false}, Case{"state is not null", true},
                    // A missing value compares as in SQL: neither equal nor different.
                    Case{"outcome = 'healthy'", false}, Case{"outcome != 'healthy'", false},
                    Case{"nothing = 1", false}, Case{"linked = true", true},
                    Case{"train_loss = nan", true}, Case{"train_loss > 1", false},
                    Case{"train_loss < 1", false}, Case{"state = \"done\"", true},
                    Case{"STATE is null", true}, Case{"loss < 3 AND seed > 2", true}));

struct BadCase {
  std::string text;
  std::string message;
};

class WhereRefuses : public testing::TestWithParam<BadCase> {};

TEST_P(WhereRefuses, SaysWhere) {
  const absl::StatusOr<Where> where = Where::Parse(GetParam().text);
  ASSERT_FALSE(where.ok());
  EXPECT_EQ(where.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Expressions, WhereRefuses,
    testing::Values(
        BadCase{"",
                "--where, character 1: found the end, expected a column such as loss, state or "
                "placement"},
        BadCase{"loss <",
                "--where, character 7: found the end, expected a number or a quoted text "
                "such as 'geo'"},
        BadCase{"loss ~ 3",
                "--where, character 6: found '~', expected one of = != < <= > >= or 'is null'"},
        BadCase{"placement = geo",
                "--where, character 13: found 'geo', expected a number or a "
                "quoted text such as 'geo'"},
        BadCase{"(loss < 3", "--where, character 10: found the end, expected ')'"},
        BadCase{"loss < 3 seed = 1",
                "--where, character 10: found 'seed', expected 'and', 'or' or the end"},
        BadCase{"state = 'done", "--where, character 9: found ''done', expected a closing quote"}));

}  // namespace
}  // namespace normlab::cli
