#include "server/stats/paired.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/builders/non_finite.h"

namespace normlab::server {
namespace {

using ::testing::ElementsAre;

TEST(PairedDifferencesTest, PairsBySeedNotByPlace) {
  EXPECT_THAT(PairedDifferences({{"1", 5}, {"2", 7}}, {{"2", 4}, {"1", 3}}), ElementsAre(2, 3));
}

TEST(PairedDifferencesTest, SeedsWithoutPartnerAreLeftOut) {
  EXPECT_THAT(PairedDifferences({{"1", 5}, {"2", 7}, {"3", 1}}, {{"2", 4}, {"9", 0}}),
              ElementsAre(3));
}

TEST(PairedDifferencesTest, APairWithANonFiniteSideIsLeftOut) {
  EXPECT_THAT(PairedDifferences({{"1", kNan}, {"2", 7}, {"3", 8}, {"4", kInf}},
                                {{"1", 1}, {"2", kInf}, {"3", 6}, {"4", 0}}),
              ElementsAre(2));
}

TEST(SignFlipTest, KnownValues) {
  struct Case {
    std::vector<double> differences;
    double p;
  };
  // All of one sign: only the two extreme choices reach the observed sum. {3, -1}: sums ±4 and ±2,
  // observed 2, so all four. {1, 2, 3, -1}: observed 5; ±7 in two choices, ±5 in four.
  for (const Case& c : {Case{{1, 2}, 0.5}, Case{{0.1, 0.2, 0.3, 0.4, 0.5}, 2.0 / 32},
                        Case{{3, -1}, 1}, Case{{1, 2, 3, -1}, 6.0 / 16}, Case{{0, 0, 0}, 1}}) {
    EXPECT_DOUBLE_EQ(*SignFlipPValue(c.differences), c.p);
  }
}

TEST(SignFlipTest, EqualDifferencesTieInSpiteOfRounding) {
  EXPECT_DOUBLE_EQ(*SignFlipPValue({0.1, 0.2, -0.3, 0.3}), 12.0 / 16);
}

TEST(SignFlipTest, NoAnswerWithoutPairsOrWithTooMany) {
  EXPECT_FALSE(SignFlipPValue({}).has_value());
  EXPECT_FALSE(SignFlipPValue(std::vector<double>(21, 1.0)).has_value());
}

}  // namespace
}  // namespace normlab::server
