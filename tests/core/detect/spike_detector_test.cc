#include "core/detect/spike_detector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/random.h"

namespace normlab {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Loss 3 with a noise of about 1 %, from a fixed seed.
std::vector<double> Noise(int steps, uint64_t seed = 1) {
  const auto random = SeededRandom(seed);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    const double uniform = static_cast<double>(random->Next() >> 11) * 0x1p-53;
    losses.push_back(3 * (1 + 0.02 * (uniform - 0.5)));
  }
  return losses;
}

std::vector<SpikeEvent> Detect(const std::vector<double>& losses,
                               const std::vector<double>& grads = {}) {
  SpikeDetector detector;
  std::vector<SpikeEvent> events;
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto event =
        detector.OnStep(static_cast<int64_t>(i) + 1, losses[i], grads.empty() ? 1.0 : grads[i]);
    if (event) events.push_back(*event);
  }
  if (const auto event = detector.Finish()) events.push_back(*event);
  return events;
}

TEST(SpikeDetector, QuietNoiseHasNoEvents) {
  for (uint64_t seed = 1; seed <= 20; ++seed) EXPECT_TRUE(Detect(Noise(2000, seed)).empty());
}

TEST(SpikeDetector, ASpikeHasOnsetPeakEndAndHeight) {
  std::vector<double> losses = Noise(300);
  losses[199] = 4;  // steps 200 to 203
  losses[200] = 6;
  losses[201] = 5;
  losses[202] = 3.5;
  const auto events = Detect(losses);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].phase, SpikeEvent::Phase::kOnset);
  EXPECT_EQ(events[0].onset, 200);
  EXPECT_EQ(events[0].end, 0);
  const SpikeEvent& whole = events[1];
  EXPECT_EQ(whole.phase, SpikeEvent::Phase::kEnd);
  EXPECT_EQ(whole.onset, 200);
  EXPECT_EQ(whole.peak, 201);
  EXPECT_EQ(whole.end, 204);
  EXPECT_TRUE(whole.recovered);
  EXPECT_EQ(whole.steps_to_recover, 4);
  EXPECT_NEAR(whole.baseline, 3, 0.02);
  EXPECT_NEAR(whole.height, 6 - whole.baseline, 1e-12);
  EXPECT_GT(whole.z, 50);
  EXPECT_FALSE(whole.grad_spiked);
}

TEST(SpikeDetector, OneSpikeIsOneEventThoughItWavers) {
  std::vector<double> losses = Noise(300);
  // Falls under the onset threshold but not under the lower one, and rises again.
  for (int i = 200; i < 210; ++i) losses[static_cast<size_t>(i)] = i % 2 == 0 ? 5 : 3.2;
  EXPECT_EQ(Detect(losses).size(), 2u);
}

TEST(SpikeDetector, TellsWhetherTheGradientSpikedToo) {
  std::vector<double> losses = Noise(300);
  std::vector<double> grads = Noise(300, 2);
  losses[199] = 6;
  grads[199] = 80;
  EXPECT_TRUE(Detect(losses, grads).back().grad_spiked);
  grads[199] = kNan;
  EXPECT_TRUE(Detect(losses, grads).back().grad_spiked);
}

TEST(SpikeDetector, TooLittleHistoryIsNoVerdict) {
  std::vector<double> losses = Noise(60);
  losses[48] = 30;  // the 49th value: one too few before it
  EXPECT_TRUE(Detect(losses).empty());
  losses[48] = 3;
  losses[50] = 30;
  EXPECT_EQ(Detect(losses).size(), 2u);
}

TEST(SpikeDetector, AConstantSeriesNeedsTheRelativeHeight) {
  std::vector<double> losses(200, 2.0);
  losses[150] = 2.05;  // 2.5 %, though infinitely many deviations
  EXPECT_TRUE(Detect(losses).empty());
  losses[150] = 2.2;
  const auto events = Detect(losses);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].z, INFINITY);
  EXPECT_EQ(ToJson(events[0])["z"], "inf");
}

TEST(SpikeDetector, NonFiniteValuesAreSkipped) {
  std::vector<double> losses = Noise(300);
  losses[120] = kNan;
  losses[121] = INFINITY;
  losses[122] = -INFINITY;
  losses[123] = 0;
  EXPECT_TRUE(Detect(losses).empty());
  losses[199] = 6;
  losses[200] = kNan;
  losses[201] = 6.5;
  const auto events = Detect(losses);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].peak, 202);
}

TEST(SpikeDetector, ALevelThatStaysIsClosedAsNotRecovered) {
  std::vector<double> losses = Noise(600);
  for (size_t i = 300; i < losses.size(); ++i) losses[i] += 3;
  const auto events = Detect(losses);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].onset, 301);
  EXPECT_EQ(events[1].end, 501);
  EXPECT_FALSE(events[1].recovered);
}

TEST(SpikeDetector, AnOpenSpikeEndsWithTheRun) {
  std::vector<double> losses = Noise(202);
  losses[200] = losses[201] = 9;
  const auto events = Detect(losses);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].end, 202);
  EXPECT_FALSE(events[1].recovered);
}

}  // namespace
}  // namespace normlab
