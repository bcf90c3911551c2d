#include "core/detect/divergence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace normlab {
namespace {

std::vector<double> Falling(int steps, double noise) {
  const auto random = SeededRandom(1);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    const double uniform = static_cast<double>(random->Next() >> 11) * 0x1p-53 - 0.5;
    losses.push_back(2 + 3 * std::exp(-i / 50.0) + noise * uniform);
  }
  return losses;
}

TEST(DivergedHard, IsTheFirstNonFiniteValueOnly) {
  DivergedHard detector;
  EXPECT_FALSE(detector.OnStep(1, 2.0, 1.0));
  EXPECT_TRUE(detector.OnStep(2, 2.0, INFINITY));
  EXPECT_FALSE(detector.OnStep(3, NAN, NAN));
  EXPECT_EQ(detector.first_step(), 2);
  DivergedHard loss;
  EXPECT_TRUE(loss.OnStep(7, -INFINITY, 0));
  EXPECT_EQ(loss.first_step(), 7);
}

TEST(DivergedSoft, ARunThatLearnsDidNotDiverge) {
  const auto result = DivergedSoft({.train_loss = Falling(300, 0.1)});
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->diverged);
  EXPECT_NEAR(result->tail_mean, 2, 0.05);
  EXPECT_NEAR(result->limit, result->lowest_mean + 1, 1e-12);
}

TEST(DivergedSoft, ARunThatRoseByMoreThanANatDid) {
  std::vector<double> losses = Falling(300, 0.1);
  for (size_t i = 200; i < 300; ++i) losses[i] += 1.5;
  EXPECT_TRUE(DivergedSoft({.train_loss = losses})->diverged);
  for (size_t i = 200; i < 300; ++i) losses[i] -= 0.8;
  EXPECT_FALSE(DivergedSoft({.train_loss = losses})->diverged);
}

TEST(DivergedSoft, NoiseRaisesTheLimit) {
  // Ten standard errors of the tail's mean, when that is more than a nat.
  const auto result = DivergedSoft({.train_loss = Falling(300, 4)});
  const double standard_error = result->step_noise / std::sqrt(15.0);
  EXPECT_GT(10 * standard_error, 1);
  EXPECT_NEAR(result->limit - result->lowest_mean, 10 * standard_error, 1e-12);
}

TEST(DivergedSoft, ValidationAboveTheUnigramEntropyCountsAfterWarmUp) {
  DivergedSoftInput input = {
      .train_loss = Falling(300, 0.1), .final_val_loss = 3.5, .unigram_entropy = 3.1};
  EXPECT_TRUE(DivergedSoft(input)->diverged);
  EXPECT_TRUE(DivergedSoft(input)->above_unigram);
  input.warmup_over = false;
  EXPECT_FALSE(DivergedSoft(input)->diverged);
  input.warmup_over = true;
  input.final_val_loss = 3.0;
  EXPECT_FALSE(DivergedSoft(input)->diverged);
  input.final_val_loss = NAN;
  EXPECT_TRUE(DivergedSoft(input)->diverged);
}

TEST(DivergedSoft, TooFewStepsIsNotApplicable) {
  EXPECT_EQ(DivergedSoft({.train_loss = Falling(99, 0.1)}), std::nullopt);
  std::vector<double> losses = Falling(150, 0.1);
  for (size_t i = 0; i < 60; ++i) losses[i] = NAN;
  EXPECT_EQ(DivergedSoft({.train_loss = losses}), std::nullopt);
}

TEST(DivergedSoft, NonFiniteLossesEnterNoMean) {
  std::vector<double> losses = Falling(300, 0.1);
  losses[295] = INFINITY;
  losses[100] = -INFINITY;
  const auto result = DivergedSoft({.train_loss = losses});
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->diverged);
  EXPECT_TRUE(std::isfinite(result->tail_mean) && std::isfinite(result->lowest_mean));
}

TEST(StepNoise, IsThatOfTheNoiseNotOfTheTrend) {
  std::vector<double> losses = Falling(2000, 0);
  EXPECT_LT(*StepNoise(losses), 1e-3);
  const auto random = SeededRandom(9);
  double before = 0;
  for (double& loss : losses) {
    // Sum of twelve uniforms less six: about normal, deviation 1.
    before = -6;
    for (int i = 0; i < 12; ++i) before += static_cast<double>(random->Next() >> 11) * 0x1p-53;
    loss += 0.05 * before;
  }
  EXPECT_NEAR(*StepNoise(losses), 0.05, 0.004);
  EXPECT_EQ(StepNoise({1, 2, 3}), std::nullopt);
  EXPECT_EQ(*StepNoise(std::vector<double>(50, 1.5)), 0);
}

}  // namespace
}  // namespace normlab
