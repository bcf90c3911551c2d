#include "server/stats/depth_growth.h"

#include <limits>

#include "gtest/gtest.h"

namespace normlab::server {
namespace {

TEST(GrowthOfTest, FirstToLastDepth) {
  const auto growth = GrowthOf({0.5, 9, 2});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->first, 0.5);
  EXPECT_EQ(growth->last, 2);
  EXPECT_EQ(growth->ratio, 4);
}

TEST(GrowthOfTest, NoRatioWithoutTwoPositiveFiniteEnds) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& profile :
       {std::vector<double>{}, {1}, {0, 1}, {1, kNan}, {kInf, 1}, {-1, 1}}) {
    EXPECT_FALSE(GrowthOf(profile).has_value());
  }
}

TEST(GrowthOfTest, ANonFiniteValueInBetweenDoesNotMatter) {
  EXPECT_EQ(GrowthOf({1, std::numeric_limits<double>::infinity(), 3})->ratio, 3);
}

TEST(MeanGrowthTest, RatiosAreAveragedAsFactors) {
  const auto mean = MeanGrowth({{1, 2, 2}, {4, 2, 0.5}});
  ASSERT_TRUE(mean.has_value());
  EXPECT_DOUBLE_EQ(mean->first, 2.5);
  EXPECT_DOUBLE_EQ(mean->last, 2);
  EXPECT_DOUBLE_EQ(mean->ratio, 1);
}

TEST(MeanGrowthTest, EmptyWithoutRuns) { EXPECT_FALSE(MeanGrowth({}).has_value()); }

}  // namespace
}  // namespace normlab::server
