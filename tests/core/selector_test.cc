#include "core/selector.h"

#include <gtest/gtest.h>

#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

using Kind = Selector::Kind;

Selector Make(Kind kind) {
  Selector selector;
  selector.kind = kind;
  return selector;
}

TEST(Selector, ReadsEveryForm) {
  EXPECT_EQ(*ParseSelector("last"), Make(Kind::kLast));
  EXPECT_EQ(*ParseSelector("all"), Make(Kind::kAll));
  Selector sweep = Make(Kind::kSweep);
  sweep.sweep = SweepId(3);
  EXPECT_EQ(*ParseSelector("s3"), sweep);
  Selector cell = sweep;
  cell.kind = Kind::kCell;
  cell.cell = CellNumber(4);
  EXPECT_EQ(*ParseSelector("s3/c4"), cell);
  Selector seed = cell;
  seed.kind = Kind::kSeed;
  seed.seed = 2;
  EXPECT_EQ(*ParseSelector("s3/c4/2"), seed);
  Selector run = Make(Kind::kRun);
  run.first_run = run.last_run = RunId(37);
  EXPECT_EQ(*ParseSelector("r37"), run);
  Selector runs = Make(Kind::kRunRange);
  runs.first_run = RunId(37);
  runs.last_run = RunId(40);
  EXPECT_EQ(*ParseSelector("r37-r40"), runs);
  Selector name = Make(Kind::kName);
  name.name = "lr-scan";
  EXPECT_EQ(*ParseSelector("lr-scan"), name);
  Selector named_cell = Make(Kind::kCell);
  named_cell.name = "last";
  named_cell.cell = CellNumber(1);
  EXPECT_EQ(*ParseSelector("last/c1"), named_cell);
}

TEST(Selector, RefusesTheRest) {
  for (const char* text :
       {"", "a b", "s3/", "s3/4", "s3/c4/x", "s3/c4/-1", "s3/c4/2/1", "/c4", "ü"}) {
    EXPECT_FALSE(ParseSelector(text).ok()) << text;
  }
  EXPECT_THAT(ParseSelector("r9-r3"),
              IsStatus(absl::StatusCode::kInvalidArgument, "'r9-r3' ends before it begins"));
}

TEST(Selector, SweepNamesDoNotLookLikeOtherSelectors) {
  for (const char* name : {"placements", "lr-scan", "a", "r3-r", "s3x", "2026.01"}) {
    EXPECT_TRUE(IsSweepName(name)) << name;
  }
  for (const char* name : {"", "last", "all", "s3", "r37", "r1-r2", "r2-r1", "a/b", "a b"}) {
    EXPECT_FALSE(IsSweepName(name)) << name;
  }
}

}  // namespace
}  // namespace normlab
