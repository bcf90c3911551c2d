#include "server/stats/sample.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/builders/non_finite.h"

namespace normlab::server {
namespace {

TEST(SummarizeTest, KnownValues) {
  // Mean 5, sum of squared deviations 32; t of 7 degrees of freedom at 97.5 % is 2.36462.
  const SampleSummary summary = Summarize({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(summary.n, 8);
  EXPECT_DOUBLE_EQ(*summary.mean, 5);
  EXPECT_DOUBLE_EQ(*summary.sd, std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(*summary.min, 2);
  EXPECT_DOUBLE_EQ(*summary.max, 9);
  const double half = 2.364624251 * std::sqrt(32.0 / 7) / std::sqrt(8.0);
  EXPECT_NEAR(summary.mean_interval->low, 5 - half, 1e-8);
  EXPECT_NEAR(summary.mean_interval->high, 5 + half, 1e-8);
}

TEST(SummarizeTest, TwoSeedsHaveTheWideIntervalOfOneDegreeOfFreedom) {
  // t of 1 degree of freedom at 97.5 % is tan(0.475·π) = 12.7062; the standard error is 0.05.
  const SampleSummary summary = Summarize({2.4, 2.5});
  EXPECT_NEAR(summary.mean_interval->low, 2.45 - 12.70620474 * 0.05, 1e-7);
  EXPECT_NEAR(summary.mean_interval->high, 2.45 + 12.70620474 * 0.05, 1e-7);
}

TEST(SummarizeTest, NonFiniteValuesAreCountedAndEnterNothing) {
  const SampleSummary summary = Summarize({kNan, 1, kInf, 3, -kInf});
  EXPECT_EQ(summary.n, 2);
  EXPECT_EQ(summary.nonfinite, 3);
  EXPECT_DOUBLE_EQ(*summary.mean, 2);
  EXPECT_DOUBLE_EQ(*summary.min, 1);
  EXPECT_DOUBLE_EQ(*summary.max, 3);
}

TEST(SummarizeTest, OneValueHasNoSpread) {
  const SampleSummary summary = Summarize({2.5});
  EXPECT_EQ(summary.n, 1);
  EXPECT_EQ(summary.mean, 2.5);
  EXPECT_FALSE(summary.sd.has_value());
  EXPECT_FALSE(summary.mean_interval.has_value());
}

TEST(SummarizeTest, NothingFiniteHasNoMean) {
  for (const std::vector<double>& values : {std::vector<double>{}, {kNan, kInf}}) {
    const SampleSummary summary = Summarize(values);
    EXPECT_EQ(summary.n, 0);
    EXPECT_FALSE(summary.mean.has_value());
    EXPECT_FALSE(summary.min.has_value());
  }
}

TEST(SummarizeTest, EqualValuesHaveDeviationExactlyZero) {
  const SampleSummary summary = Summarize({0.1, 0.1, 0.1});
  EXPECT_EQ(summary.mean, 0.1);
  EXPECT_EQ(summary.sd, 0.0);
  EXPECT_EQ(summary.mean_interval->low, 0.1);
  EXPECT_EQ(summary.mean_interval->high, 0.1);
}

TEST(SummarizeTest, ALargeMeanCostsNoDigits) {
  EXPECT_DOUBLE_EQ(*Summarize({1e9 + 1, 1e9 + 2, 1e9 + 3}).sd, 1);
}

}  // namespace
}  // namespace normlab::server
