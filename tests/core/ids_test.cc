#include "core/ids.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

TEST(Ids, ReadBackAsWritten) {
  EXPECT_EQ(ToString(SweepId(3)), "s3");
  EXPECT_EQ(*ParseSweepId("s3"), SweepId(3));
  EXPECT_EQ(*ParseRunId("r9223372036854775807"), RunId(9223372036854775807));
  EXPECT_EQ(*ParseCellNumber("c4"), CellNumber(4));
  EXPECT_EQ(*ParseAttemptNumber("2"), AttemptNumber(2));
  EXPECT_EQ(ToString(LeaseToken(0xabc)), "0000000000000abc");
  EXPECT_EQ(*ParseLeaseToken("ffffffffffffffff"), LeaseToken(0xffffffffffffffff));
}

TEST(Ids, RefuseEverythingElse) {
  for (const char* text : {"", "s", "s0", "s01", "s-1", "s+1", "r3", "s3 ", " s3", "S3", "s3x",
                           "s9223372036854775808"}) {
    EXPECT_FALSE(ParseSweepId(text).ok()) << text;
  }
  EXPECT_FALSE(ParseCellNumber("c2147483648").ok());
  for (const char* text : {"", "0000000000000000", "abc", "00000000000000ABC", "0x00000000000abc",
                           "000000000000000g"}) {
    EXPECT_FALSE(ParseLeaseToken(text).ok()) << text;
  }
  EXPECT_THAT(ParseRunId("s3"),
              IsStatus(absl::StatusCode::kInvalidArgument, "'s3' is not a run's id (such as r37)"));
}

TEST(Ids, OrderHashAndNone) {
  EXPECT_LT(RunId(2), RunId(10));
  EXPECT_FALSE(static_cast<bool>(LeaseToken()));
  EXPECT_TRUE(static_cast<bool>(WorkerId("w")));
  const std::unordered_set<RunId> set = {RunId(1), RunId(2), RunId(1)};
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
}  // namespace normlab
