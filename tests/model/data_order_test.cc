#include "model/data_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "model/counter_rng.h"

namespace normlab::model {
namespace {

TEST(DataOrder, EveryEpochIsAPermutation) {
  for (const int64_t blocks : {1, 2, 3, 5, 64, 1000, 1023}) {
    const DataOrder order(7, blocks);
    for (const int64_t epoch : {0, 1, 9}) {
      std::set<int64_t> seen;
      for (int64_t place = 0; place < blocks; ++place) seen.insert(order.Permute(epoch, place));
      EXPECT_EQ(static_cast<int64_t>(seen.size()), blocks);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), blocks - 1);
    }
  }
}

TEST(DataOrder, EpochsAndSeedsDiffer) {
  const DataOrder one(1, 1000), two(2, 1000);
  int same_epoch = 0, same_seed = 0;
  for (int64_t place = 0; place < 1000; ++place) {
    same_epoch += one.Permute(0, place) == one.Permute(1, place);
    same_seed += one.Permute(0, place) == two.Permute(0, place);
  }
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(same_seed, 10);
}

// A batch is a window on one endless sequence, whatever the batch size.
TEST(DataOrder, StepsReadOnWhereTheLastOneEnded) {
  const DataOrder order(3, 50);
  std::vector<int64_t> by_four, by_six;
  for (int64_t step = 1; step <= 30; ++step) {
    for (const int64_t block : order.BlocksOfStep(step, 4)) by_four.push_back(block);
  }
  for (int64_t step = 1; step <= 20; ++step) {
    for (const int64_t block : order.BlocksOfStep(step, 6)) by_six.push_back(block);
  }
  EXPECT_EQ(by_four, by_six);
}

// Values that a reader in another language can check against the formulas of counter_rng.h.
TEST(CounterRng, MixIsTheFinaliserOfSplitMix64) {
  EXPECT_EQ(Mix64(0), 0u);
  EXPECT_EQ(Mix64(0x9e3779b97f4a7c15), 0xe220a8397b1dcdafu);  // SplitMix64's first output of seed 0
}

TEST(CounterRng, NormalsHaveTheMomentsOfNormals) {
  std::vector<double> x(200001);
  CounterRng(5, "test").FillNormal(x.data(), static_cast<int64_t>(x.size()));
  double sum = 0, square = 0, fourth = 0;
  for (const double value : x) {
    sum += value;
    square += value * value;
    fourth += value * value * value * value;
  }
  const double n = static_cast<double>(x.size());
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(square / n, 1, 0.02);
  EXPECT_NEAR(fourth / n, 3, 0.15);
}

TEST(CounterRng, PurposeAndIndexSeparateStreams) {
  EXPECT_NE(CounterRng(1, "a").Bits(0), CounterRng(1, "b").Bits(0));
  EXPECT_NE(CounterRng(1, "a", 0).Bits(0), CounterRng(1, "a", 1).Bits(0));
  EXPECT_EQ(CounterRng(1, "a", 1).Bits(9), CounterRng(1, "a", 1).Bits(9));
}

}  // namespace
}  // namespace normlab::model
