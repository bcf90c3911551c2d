#include "core/detect/spike_score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace normlab {
namespace {

// The definition, word by word, in one slow pass over everything.
std::optional<double> Direct(const std::vector<double>& values, int64_t first, int64_t last) {
  std::vector<double> window;
  int scored = 0;
  int spikes = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    if (window.size() == 1000) {
      double mean = 0;
      for (double value : window) mean += value / 1000;
      double variance = 0;
      for (double value : window) variance += (value - mean) * (value - mean) / 1000;
      const auto step = static_cast<int64_t>(i) + 1;
      if (step >= first && step <= last) {
        ++scored;
        if (std::abs(values[i] - mean) >= 7 * std::sqrt(variance)) ++spikes;
      }
      window.erase(window.begin());
    }
    window.push_back(values[i]);
  }
  if (scored == 0) return std::nullopt;
  return static_cast<double>(spikes) / scored;
}

SpikeScore Online(const std::vector<double>& values) {
  SpikeScore score;
  for (size_t i = 0; i < values.size(); ++i) score.OnStep(static_cast<int64_t>(i) + 1, values[i]);
  return score;
}

TEST(SpikeScore, AgreesWithItsDefinition) {
  const auto random = SeededRandom(5);
  std::vector<double> values;
  for (int i = 0; i < 4000; ++i) {
    const double uniform = static_cast<double>(random->Next() >> 11) * 0x1p-53;
    // A large offset would break a difference of sums of squares.
    values.push_back(1e6 + uniform + (i % 401 == 400 ? 20 : 0));
    if (i % 97 == 0) values.push_back(std::nan(""));
  }
  const SpikeScore score = Online(values);
  const auto total = static_cast<int64_t>(values.size());
  ASSERT_TRUE(score.Share().has_value());
  EXPECT_GT(*score.Share(), 0);
  EXPECT_EQ(score.Share(), Direct(values, 1, total));
  EXPECT_EQ(score.MiddleShare(total), Direct(values, (total + 9) / 10, total * 9 / 10));
}

TEST(SpikeScore, BelowTheMinimumIsNotApplicable) {
  EXPECT_EQ(Online(std::vector<double>(1000, 2.0)).Share(), std::nullopt);
  EXPECT_EQ(Online(std::vector<double>(1001, 2.0)).Share(), 0.0);
  EXPECT_EQ(Online(std::vector<double>(1001, 2.0)).MiddleShare(1001), std::nullopt);
  EXPECT_EQ(Online(std::vector<double>(5000, NAN)).Share(), std::nullopt);
}

TEST(SpikeScore, InAConstantSeriesAnyOtherValueCounts) {
  std::vector<double> values(1100, 0.1);
  values[1050] = 0.2;
  EXPECT_EQ(Online(values).Share(), 0.01);
}

}  // namespace
}  // namespace normlab
