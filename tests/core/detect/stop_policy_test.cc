#include "core/detect/stop_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

// The first step at which the policy stops a run whose loss spikes at each of `spikes`.
std::optional<int64_t> StopStep(const StopPolicy& policy, const std::vector<int64_t>& spikes,
                                int64_t steps = 3000) {
  StopWatch watch(policy);
  for (int64_t step = 1; step <= steps; ++step) {
    const bool spike = std::find(spikes.begin(), spikes.end(), step) != spikes.end();
    const double loss = spike ? 9 : 3 + 0.001 * static_cast<double>(step % 7);
    if (watch.OnStep(step, loss, 1.0)) return step;
  }
  return std::nullopt;
}

TEST(StopPolicy, StopsAtTheFirstNonFiniteValue) {
  StopWatch watch(StopPolicy{});
  EXPECT_EQ(watch.OnStep(1, 3, 1), std::nullopt);
  EXPECT_EQ(watch.OnStep(2, 3, NAN), "nonfinite");
  StopWatch loss(StopPolicy{});
  EXPECT_EQ(loss.OnStep(1, INFINITY, 1), "nonfinite");
  StopWatch off(StopPolicy{.nonfinite = false});
  EXPECT_EQ(off.OnStep(1, NAN, NAN), std::nullopt);
}

TEST(StopPolicy, StopsAtMoreSpikesThanAllowedInAThousandSteps) {
  const StopPolicy policy = {.spikes_per_1k = 2};
  EXPECT_EQ(StopStep(policy, {200, 500}), std::nullopt);
  EXPECT_EQ(StopStep(policy, {200, 500, 900}), 900);
  EXPECT_EQ(StopStep(policy, {200, 500, 1199}), 1199);
  EXPECT_EQ(StopStep(policy, {200, 500, 1200}), std::nullopt) << "the first is 1,000 steps ago";
}

TEST(StopPolicy, SpikesBeforeAfterStepDoNotCount) {
  const StopPolicy policy = {.spikes_per_1k = 1, .after_step = 500};
  EXPECT_EQ(StopStep(policy, {200, 300, 500, 600}), std::nullopt);
  EXPECT_EQ(StopStep(policy, {200, 300, 501, 600}), 600);
}

TEST(StopPolicy, OffMeansOff) {
  EXPECT_EQ(StopStep(StopPolicy{}, {200, 210, 220, 230, 240, 250}), std::nullopt);
}

TEST(StopPolicy, JsonReadsBackAndIsStrict) {
  const StopPolicy policy = {.nonfinite = false, .spikes_per_1k = 2.5, .after_step = 7};
  EXPECT_EQ(*StopPolicyFromJson(ToJson(policy)), policy);
  EXPECT_EQ(*StopPolicyFromJson(nlohmann::json::object()), StopPolicy());
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(StopPolicyFromJson({{"after_step", -1}}), IsStatusWith(invalid, "below 0"));
  EXPECT_THAT(StopPolicyFromJson({{"spikes", 1}}),
              IsStatusWith(invalid, "'spikes' is no stop rule"));
  EXPECT_THAT(StopPolicyFromJson(3), IsStatusWith(invalid, "should be an object"));
}

}  // namespace
}  // namespace normlab
