#include "server/query/comparison.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/query/differing_knobs.h"

namespace normlab::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ComparedRun Done(const std::string& arm, int seed, double value,
                 Outcome outcome = Outcome::kHealthy) {
  ComparedRun run;
  run.arm = arm;
  run.seed = seed;
  run.state = RunState::kDone;
  run.outcome = outcome;
  run.value = value;
  return run;
}

ComparedRun EndedEarly(const std::string& arm, int seed, Outcome outcome) {
  ComparedRun run = Done(arm, seed, 0, outcome);
  run.value.reset();
  return run;
}

ComparedRun Open(const std::string& arm, int seed) {
  ComparedRun run;
  run.arm = arm;
  run.seed = seed;
  return run;
}

TEST(CompareArmsTest, DifferencesAreWithinSeeds) {
  const std::vector<Arm> arms =
      CompareArms({Done("pre", 1, 2.0), Done("pre", 2, 3.0), Done("geo", 1, 1.9),
                   Done("geo", 2, 2.9), Done("geo", 3, 100)},
                  "pre");
  ASSERT_EQ(arms.size(), 2u);
  EXPECT_EQ(arms[0].label, "pre");
  EXPECT_FALSE(arms[0].difference.has_value());
  EXPECT_DOUBLE_EQ(*arms[0].value.mean, 2.5);
  EXPECT_EQ(arms[1].value.n, 3);
  ASSERT_TRUE(arms[1].difference.has_value());
  EXPECT_EQ(arms[1].difference->summary.n, 2);
  EXPECT_NEAR(*arms[1].difference->summary.mean, -0.1, 1e-12);
  EXPECT_DOUBLE_EQ(*arms[1].difference->p_signflip, 0.5);
}

ComparedRun WithDt(ComparedRun run, const std::string& dt) {
  run.rest["residual.dt"] = dt;
  return run;
}

// Both arms have a Δt: partners have the same one.
TEST(CompareArmsTest, PartnersAgreeInTheOtherFactors) {
  const std::vector<Arm> arms =
      CompareArms({WithDt(Done("pre", 1, 2.0), "0.1"), WithDt(Done("pre", 1, 4.0), "1"),
                   WithDt(Done("deep", 1, 2.5), "0.1"), WithDt(Done("deep", 1, 4.25), "1")},
                  "pre");
  ASSERT_TRUE(arms[1].difference.has_value());
  EXPECT_EQ(arms[1].difference->summary.n, 2);
  EXPECT_DOUBLE_EQ(*arms[1].difference->summary.mean, 0.375);
}

// Δt means nothing to geo: its one run of a seed meets the mean of the baseline's over Δt, and
// counts once.
TEST(CompareArmsTest, AFactorThatOneArmLacksIsAveragedOver) {
  std::vector<ComparedRun> runs = {WithDt(Done("pre", 1, 2.0), "0.1"),
                                   WithDt(Done("pre", 1, 4.0), "1"),
                                   WithDt(Done("pre", 2, 3.0), "0.1"),
                                   WithDt(Done("pre", 2, 5.0), "1"),
                                   Done("geo", 1, 2.5),
                                   Done("geo", 2, 3.0)};
  const std::vector<Arm> arms = CompareArms(runs, "pre");
  ASSERT_TRUE(arms[1].difference.has_value());
  EXPECT_EQ(arms[1].difference->summary.n, 2);
  EXPECT_DOUBLE_EQ(*arms[1].difference->summary.mean, -0.75);  // 2.5 − 3, 3 − 4
  // Half of a group would be another question's answer.
  runs[3].value.reset();
  EXPECT_DOUBLE_EQ(*CompareArms(runs, "pre")[1].difference->summary.mean, -0.5);
}

TEST(CompareArmsTest, ADivergedRunCountsAndItsEarlyValueDoesNot) {
  const std::vector<Arm> arms = CompareArms(
      {Done("pre", 1, 2.0), Done("post", 1, 2.5), EndedEarly("post", 2, Outcome::kDiverged),
       EndedEarly("post", 3, Outcome::kCensored)},
      "pre");
  EXPECT_EQ(arms[1].value.n, 1);
  EXPECT_EQ(arms[1].planned, 3);
  EXPECT_EQ(arms[1].diverged, 1);
  EXPECT_EQ(arms[1].judged, 2) << "the censored run is neither healthy nor diverged";
  EXPECT_NEAR(arms[1].diverged_interval->low, 0.0945, 1e-4);
  EXPECT_NEAR(arms[1].diverged_interval->high, 0.9055, 1e-4);
}

TEST(CompareArmsTest, AnUnfinishedArmHasNoNumbers) {
  const std::vector<Arm> arms = CompareArms({Done("pre", 1, 2.0), Open("geo", 1)}, "pre");
  EXPECT_EQ(arms[1].value.n, 0);
  EXPECT_EQ(arms[1].open, 1);
  EXPECT_FALSE(arms[1].difference.has_value());
  EXPECT_FALSE(arms[1].diverged_interval.has_value());
}

TEST(ComparisonNotesTest, SayWhatIsMissing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ComparedRun failed = Open("geo", 3);
  failed.state = RunState::kFailed;
  const std::vector<std::string> notes = ComparisonNotes(
      CompareArms({Done("pre", 1, 2.0), Done("pre", 2, nan), Open("geo", 1), Open("geo", 2), failed,
                   EndedEarly("post", 1, Outcome::kDiverged)},
                  "pre"),
      {.open = 2, .planned = 6});
  EXPECT_THAT(notes, Contains("2 of 6 runs are not finished"));
  EXPECT_THAT(notes, Contains("geo: 1 of 3 runs failed"));
  EXPECT_THAT(notes, Contains(HasSubstr("post: 1 of 1 runs ended before their last step")));
  EXPECT_THAT(notes, Contains(HasSubstr("pre: 1 of 2 runs ended with a value that is not finite")));
  EXPECT_THAT(notes, Contains(HasSubstr("n = 1 has no interval")));
}

TEST(DifferingKnobsTest, OnlyWhatMeansSomethingToBothAndChangesTheResult) {
  const nlohmann::json pre = {{"norm", {{"placement", "pre"}, {"final", true}, {"eps", 1e-5}}},
                              {"train", {{"lr", 0.001}, {"batch", 8}}},
                              {"eval", {{"every", 50}}},
                              {"seed", 1}};
  nlohmann::json geo = pre;
  geo["norm"] = {{"placement", "geo"}, {"final", false}, {"eps", 1e-5}, {"alpha", 1}};
  geo["train"]["lr"] = 0.002;
  geo["eval"]["every"] = 10;
  geo["seed"] = 2;
  EXPECT_THAT(DifferingKnobs(geo, pre, {"norm.placement"}), ElementsAre("norm.final", "train.lr"));
  EXPECT_THAT(DifferingKnobs(pre, pre, {}), ElementsAre());
}

}  // namespace
}  // namespace normlab::server
