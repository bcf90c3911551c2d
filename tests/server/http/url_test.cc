#include "server/http/url.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/builders/status_matchers.h"

namespace normlab::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ParseTargetTest, PathStaysEncodedParametersDoNot) {
  const auto target = ParseTarget("/a/s3%2Fc4?sql=SELECT+1%2B1&empty=&flag");
  ASSERT_THAT(target, IsOk());
  EXPECT_EQ(target->path, "/a/s3%2Fc4");
  EXPECT_THAT(target->params,
              ElementsAre(Pair("empty", ""), Pair("flag", ""), Pair("sql", "SELECT 1+1")));
}

TEST(ParseTargetTest, NoQueryNoParameters) {
  EXPECT_THAT(ParseTarget("/")->params, IsEmpty());
  EXPECT_THAT(ParseTarget("/?")->params, IsEmpty());
}

TEST(ParseTargetTest, BadOnes) {
  for (const char* target :
       {"", "x", "http://a/b", "/?a=%", "/?a=%4", "/?a=%zz", "/?a=%00", "/?a=1&a=2", "/?=1"}) {
    EXPECT_THAT(ParseTarget(target), IsStatusWith(absl::StatusCode::kInvalidArgument, ""))
        << target;
  }
}

}  // namespace
}  // namespace normlab::server
