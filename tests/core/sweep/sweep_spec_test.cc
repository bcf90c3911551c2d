#include "core/sweep/sweep_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/sweep/units.h"
#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SweepSpec ParseValid(std::string_view text) {
  std::vector<SpecError> errors;
  auto spec = SweepSpec::ParseYaml(text, "dir/lr-scan.yaml", errors);
  for (const SpecError& error : errors) ADD_FAILURE() << error.ToString();
  return spec.value_or(SweepSpec());
}

TEST(SweepSpec, ReadsEveryPart) {
  const SweepSpec spec = ParseValid(R"(
name: all-parts
base:
  model: {preset: micro}
  data.name: kjv
factors:
  norm: {placement: [pre, geo]}
  norm.angle_clamp: [off, 0.5]
stop: {nonfinite: false, spikes_per_1k: 20, after_step: 100}
primary: {metric: val_loss, contrast: norm.placement, alpha: 0.01}
budget: {failures: 1, preemptions: unlimited, time: 1h30m, stall: unlimited}
resources: {gpus: 1, cpus: 4, memory: 2GiB}
replicates: {seed: [7, 9]}
)");
  EXPECT_EQ(spec.name, "all-parts");
  EXPECT_EQ(spec.base.Int("model.layers"), 6);
  EXPECT_EQ(spec.base.Text("data.name"), "kjv");
  ASSERT_EQ(spec.factors.size(), 2u);
  EXPECT_EQ(spec.factors[0].key, "norm.placement");
  EXPECT_THAT(spec.factors[1].levels, ElementsAre(KnobValue(0.0), KnobValue(0.5)));
  EXPECT_FALSE(spec.stop.nonfinite);
  EXPECT_EQ(spec.stop.spikes_per_1k, 20);
  EXPECT_EQ(spec.stop.after_step, 100);
  EXPECT_EQ(spec.primary->contrast, "norm.placement");
  EXPECT_EQ(spec.primary->alpha, 0.01);
  EXPECT_EQ(spec.budget.failures, 1);
  EXPECT_EQ(spec.budget.preemptions, -1);
  EXPECT_EQ(spec.budget.time_s, 5400);
  EXPECT_EQ(spec.budget.stall_s, 0);
  EXPECT_EQ(spec.resources.gpus, 1);
  EXPECT_EQ(spec.resources.cpus, 4);
  EXPECT_EQ(spec.resources.memory_bytes, int64_t{2} << 30);
  EXPECT_THAT(spec.seeds, ElementsAre(7, 9));
  EXPECT_THAT(spec.Warnings(), IsEmpty());
}

TEST(SweepSpec, WithoutANameHasThatOfItsFile) {
  EXPECT_EQ(ParseValid("base: {data: {name: kjv}}").name, "lr-scan");
}

TEST(SweepSpec, AcceptsJson) {
  const SweepSpec spec =
      ParseValid(R"({"base": {"data": {"name": "kjv"}}, "factors": {"train.lr": [0.001, 0.01]}})");
  EXPECT_THAT(spec.factors[0].levels, ElementsAre(KnobValue(0.001), KnobValue(0.01)));
}

TEST(SweepSpec, ABaseSeedIsTheOneReplicate) {
  const SweepSpec spec = ParseValid("base: {data: {name: kjv}, seed: 42}");
  EXPECT_THAT(spec.seeds, ElementsAre(42));
  EXPECT_FALSE(spec.base.IsSet("seed"));
}

struct LevelsCase {
  const char* factor;
  std::vector<KnobValue> levels;
};

class LevelsTest : public testing::TestWithParam<LevelsCase> {};

TEST_P(LevelsTest, AreThese) {
  const SweepSpec spec =
      ParseValid(std::string("base: {data: {name: kjv}}\nfactors: {") + GetParam().factor + "}");
  ASSERT_EQ(spec.factors.size(), 1u);
  EXPECT_EQ(spec.factors[0].levels, GetParam().levels);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, LevelsTest,
    testing::Values(
        LevelsCase{"residual.dt: 0.5", {0.5}}, LevelsCase{"model.bias: [on, off]", {true, false}},
        LevelsCase{"residual.dt: {log: [0.01, 1], n: 3}", {0.01, 0.1, 1.0}},
        LevelsCase{"residual.dt: {linear: [0.1, 0.5], n: 5}", {0.1, 0.2, 0.3, 0.4, 0.5}},
        LevelsCase{"residual.dt: {range: [0.1, 0.35, 0.1]}", {0.1, 0.2, 0.3}},
        LevelsCase{"model.layers: {range: [2, 8, 3]}", {int64_t{2}, int64_t{5}, int64_t{8}}},
        LevelsCase{"model.layers: {log: [2, 16], n: 4}",
                   {int64_t{2}, int64_t{4}, int64_t{8}, int64_t{16}}},
        LevelsCase{"train.steps: [1e3]", {int64_t{1000}}}));

TEST(SweepSpec, OverridesReplaceOrAddAFactor) {
  SweepSpec spec =
      ParseValid("base: {data: {name: kjv}}\nfactors: {norm.placement: [pre], train.lr: 1}");
  ASSERT_THAT(spec.ApplyOverride("norm.placement=geo, post"), IsOk());
  ASSERT_THAT(spec.ApplyOverride("model.layers=2,4"), IsOk());
  ASSERT_THAT(spec.ApplyOverride("seed=5,6"), IsOk());
  ASSERT_EQ(spec.factors.size(), 3u);
  EXPECT_THAT(spec.factors[0].levels,
              ElementsAre(KnobValue(std::string("geo")), KnobValue(std::string("post"))));
  EXPECT_EQ(spec.factors[2].key, "model.layers");
  EXPECT_THAT(spec.seeds, ElementsAre(5, 6));
}

TEST(SweepSpec, OverridesSayWhatIsWrongWithThem) {
  SweepSpec spec = ParseValid("base: {data: {name: kjv}}");
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(spec.ApplyOverride("norm.placement"),
              IsStatus(code, "'-S norm.placement': should be key=value or key=value,value"));
  EXPECT_THAT(spec.ApplyOverride("norm.placment=geo"),
              IsStatus(code, "-S: 'norm.placment' is no knob; did you mean 'norm.placement'?"));
  EXPECT_THAT(
      spec.ApplyOverride("norm.placement=gheo"),
      IsStatus(code, "-S: norm.placement: 'gheo' is none of its values; did you mean 'geo'?"));
  EXPECT_THAT(spec.ApplyOverride("train.lr=1,,2"),
              IsStatus(code, "-S: train.lr: found ''; should be a number from 0 to 1000"));
  EXPECT_TRUE(spec.factors.empty());
  EXPECT_THAT(spec.SetSeeds(0), IsStatus(code, "--seeds 0: should be from 1 to 10000"));
  EXPECT_THAT(spec.SetName("r7"), IsStatusWith(code, "'r7' cannot name a sweep"));
}

TEST(SweepSpec, CheckAfterOverridesFindsWhatNoLongerFits) {
  SweepSpec spec = ParseValid(R"(
base: {data: {name: kjv}}
factors: {norm.placement: [pre, geo]}
baseline: {norm.placement: pre}
)");
  ASSERT_THAT(spec.ApplyOverride("norm.placement=geo,post"), IsOk());
  const auto errors = spec.Check("lr.yaml");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].ToString(),
            "lr.yaml:4:11: baseline: no cell has norm.placement = pre; its levels are geo, post");
}

TEST(SweepSpec, AnExclusionThatMatchesNothingIsAWarning) {
  const SweepSpec spec = ParseValid(R"(
base: {data: {name: kjv}}
factors: {norm.placement: [pre, geo], residual.dt: [1]}
exclude: [{norm.placement: pre, residual.dt: 0.5}, {norm.placement: geo}]
)");
  EXPECT_THAT(
      spec.Warnings(),
      ElementsAre("exclude {norm.placement: pre, residual.dt: 0.5} matches no combination"));
}

TEST(SweepSpec, FromJsonRefusesWhatAFileCouldNotSay) {
  const auto document = ParseJson(R"({"base": {"data.name": "kjv"}, "command": "rm -rf /"})");
  EXPECT_THAT(SweepSpec::FromJson(*document), IsStatusWith(absl::StatusCode::kInvalidArgument,
                                                           "'command' is no part of a sweep file"));
}

TEST(Units, Durations) {
  EXPECT_EQ(ParseDuration("30m"), 1800);
  EXPECT_EQ(ParseDuration("1h30m"), 5400);
  EXPECT_EQ(ParseDuration("1.5h"), 5400);
  EXPECT_EQ(ParseDuration("2d"), 172800);
  EXPECT_EQ(ParseDuration("90"), 90);
  EXPECT_EQ(ParseDuration(""), std::nullopt);
  EXPECT_EQ(ParseDuration("30m1h"), std::nullopt);
  EXPECT_EQ(ParseDuration("-5s"), std::nullopt);
  EXPECT_EQ(ParseDuration("5 s"), std::nullopt);
  EXPECT_EQ(FormatDuration(5400), "1h30m");
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(61.5), "1m1.5s");
}

TEST(Units, Sizes) {
  EXPECT_EQ(ParseSize("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(ParseSize("1.5MB"), 1500000);
  EXPECT_EQ(ParseSize("7"), 7);
  EXPECT_EQ(ParseSize("2 GiB"), std::nullopt);
  EXPECT_EQ(ParseSize("9999999999TiB"), std::nullopt);
}

}  // namespace
}  // namespace normlab
