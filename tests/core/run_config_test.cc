#include "core/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/placement_facts.h"
#include "core/sha256.h"
#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "norm.placement=geo norm.decay=sqrt" as a config.
RunConfig Make(std::string_view settings = "") {
  RunConfig config;
  while (!settings.empty()) {
    const size_t space = std::min(settings.find(' '), settings.size());
    const std::string_view setting = settings.substr(0, space);
    const size_t equals = setting.find('=');
    EXPECT_THAT(config.Parse(setting.substr(0, equals), setting.substr(equals + 1)), IsOk());
    settings.remove_prefix(std::min(space + 1, settings.size()));
  }
  return config;
}

std::string Identity(std::string_view settings) { return Make(settings).Identity("d"); }

TEST(RunConfig, DefaultsAreThoseOfTheDocumentation) {
  const RunConfig config;
  EXPECT_EQ(config.Text("model.preset"), "nano");
  EXPECT_EQ(config.Int("model.layers"), 4);
  EXPECT_EQ(config.Int("model.width"), 128);
  EXPECT_EQ(config.Int("model.ffn"), 512);
  EXPECT_EQ(config.Int("model.seq_len"), 128);
  EXPECT_EQ(config.Int("train.batch"), 8);
  EXPECT_EQ(config.Int("train.micro_batch"), 8);
  EXPECT_EQ(config.Text("norm.placement"), "pre");
  EXPECT_EQ(config.Text("norm.kind"), "layernorm");
  EXPECT_TRUE(config.Bool("norm.gain"));
  EXPECT_EQ(config.Real("residual.dt"), 1);
  EXPECT_EQ(config.Real("norm.eps"), 1e-5);
  EXPECT_EQ(config.Real("norm.angle_clamp"), 0);
  EXPECT_EQ(config.ValueText("norm.angle_clamp"), "off");
  EXPECT_EQ(config.Int("train.warmup"), 30);
  EXPECT_THAT(config.Validate(), IsEmpty());
}

struct PresetCase {
  const char* name;
  int64_t layers, width, heads, ffn;
  double lr;
  const char* positions;
  bool tied, bias;
  const char* activation;
};

class PresetTest : public testing::TestWithParam<PresetCase> {};

TEST_P(PresetTest, GivesDefaultsOnly) {
  const PresetCase& p = GetParam();
  const RunConfig config = Make(std::string("model.preset=") + p.name);
  EXPECT_EQ(config.Int("model.layers"), p.layers);
  EXPECT_EQ(config.Int("model.width"), p.width);
  EXPECT_EQ(config.Int("model.heads"), p.heads);
  EXPECT_EQ(config.Int("model.ffn"), p.ffn);
  EXPECT_EQ(config.Real("train.lr"), p.lr);
  EXPECT_EQ(config.Text("model.positions"), p.positions);
  EXPECT_EQ(config.Bool("model.tied_head"), p.tied);
  EXPECT_EQ(config.Bool("model.bias"), p.bias);
  EXPECT_EQ(config.Text("model.activation"), p.activation);
  EXPECT_THAT(config.Validate(), IsEmpty());
  const RunConfig own = Make(std::string("model.width=64 model.heads=2 model.preset=") + p.name);
  EXPECT_EQ(own.Int("model.width"), 64);
  EXPECT_EQ(own.Int("model.ffn"), 256);
  EXPECT_EQ(own.Int("model.layers"), p.layers);
}

INSTANTIATE_TEST_SUITE_P(
    All, PresetTest,
    testing::Values(
        PresetCase{"nano", 4, 128, 4, 512, 1e-3, "learned", true, false, "gelu"},
        PresetCase{"micro", 6, 384, 6, 1536, 1e-3, "learned", true, false, "gelu"},
        PresetCase{"gpt2-124m", 12, 768, 12, 3072, 6e-4, "learned", true, false, "gelu-tanh"},
        PresetCase{"gpt2-774m", 36, 1280, 20, 5120, 2.5e-4, "learned", true, false, "gelu-tanh"},
        PresetCase{"gpt2-1558m", 48, 1600, 25, 6400, 2e-4, "learned", true, false, "gelu-tanh"},
        PresetCase{"neox-125m", 12, 768, 12, 3072, 6e-4, "rotary", false, true, "gelu"},
        PresetCase{"neox-350m", 24, 1024, 16, 4096, 3e-4, "rotary", false, true, "gelu"},
        PresetCase{"neox-760m", 24, 1536, 16, 6144, 2.5e-4, "rotary", false, true, "gelu"},
        PresetCase{"neox-1.3b", 24, 2048, 16, 8192, 2e-4, "rotary", false, true, "gelu"}));

TEST(RunConfig, VocabularyComesFromTheDataSetUnlessGiven) {
  EXPECT_EQ(Make().VocabFor(256), 256);
  EXPECT_EQ(Make().VocabFor(50257), 50257);
  EXPECT_EQ(Make("model.preset=gpt2-124m").VocabFor(50257), 50304);
  EXPECT_EQ(Make("model.preset=neox-125m").VocabFor(256), 256);
  EXPECT_EQ(Make("model.vocab=300 model.preset=gpt2-124m").VocabFor(50257), 300);
}

TEST(RunConfig, FinalNormFollowsThePlacementUnlessSet) {
  for (const PlacementFacts& facts : Placements()) {
    RunConfig config;
    ASSERT_THAT(config.Parse("norm.placement", facts.name), IsOk());
    const bool none = facts.name == "post" || facts.name == "deep" || facts.name == "keel" ||
                      facts.name == "rezero" || facts.sphere;
    EXPECT_EQ(config.Bool("norm.final"), !none) << facts.name;
  }
  EXPECT_TRUE(Make("norm.placement=geo norm.final=true").Bool("norm.final"));
}

TEST(RunConfig, SeedStandsForBothUnlessTheyAreApart) {
  EXPECT_EQ(Make("seed=7").Int("seed.init"), 7);
  EXPECT_EQ(Make("seed=7 seed.data=9").Int("seed.data"), 9);
  EXPECT_EQ(Make("seed=7").ToJson()["seed"], 7);
  EXPECT_EQ(Make("seed=7 seed.data=9").ToJson()["seed"], json({{"init", 7}, {"data", 9}}));
}

struct ApplyCase {
  const char* knob;
  const char* settings;
  bool applies;
};

class AppliesTest : public testing::TestWithParam<ApplyCase> {};

TEST_P(AppliesTest, AsTheTableSays) {
  EXPECT_EQ(Make(GetParam().settings).Applies(GetParam().knob), GetParam().applies)
      << GetParam().knob << " under " << GetParam().settings;
}

INSTANTIATE_TEST_SUITE_P(
    Sphere, AppliesTest,
    testing::Values(ApplyCase{"norm.decay", "norm.placement=geo", true},
                    ApplyCase{"norm.decay", "norm.placement=geo-affine", true},
                    ApplyCase{"norm.decay", "norm.placement=sphere", false},
                    ApplyCase{"norm.decay", "norm.placement=pre", false},
                    ApplyCase{"norm.decay", "norm.placement=geo norm.angle=prenorm", false},
                    ApplyCase{"norm.decay_unit", "norm.placement=geo norm.decay=none", false},
                    ApplyCase{"norm.decay_unit", "norm.placement=geo norm.decay=sqrt", true},
                    ApplyCase{"norm.alpha", "norm.placement=sphere", true},
                    ApplyCase{"norm.alpha", "norm.placement=geo norm.angle=prenorm", false},
                    ApplyCase{"norm.retraction", "norm.placement=geo-affine", true},
                    ApplyCase{"norm.retraction", "norm.placement=geo norm.angle=prenorm", false},
                    ApplyCase{"norm.angle_clamp", "norm.placement=peri", false},
                    ApplyCase{"norm.angle", "norm.placement=geo", true},
                    ApplyCase{"norm.angle", "norm.placement=sphere", false},
                    ApplyCase{"norm.angle", "norm.placement=geo-affine", false},
                    // prenorm angles are geo's only: elsewhere the knob has no effect.
                    ApplyCase{"norm.alpha", "norm.placement=geo-affine norm.angle=prenorm", true},
                    ApplyCase{"norm.inner", "norm.placement=geo", true},
                    ApplyCase{"norm.inner", "norm.placement=post", false}));

INSTANTIATE_TEST_SUITE_P(
    Others, AppliesTest,
    testing::Values(ApplyCase{"residual.dt", "norm.placement=keel", true},
                    ApplyCase{"residual.dt", "norm.placement=geo", false},
                    ApplyCase{"residual.dt", "norm.placement=geo-affine", false},
                    ApplyCase{"residual.dt", "norm.placement=sphere", false},
                    ApplyCase{"residual.scale", "norm.placement=scaled", true},
                    ApplyCase{"residual.scale", "norm.placement=pre", false},
                    ApplyCase{"residual.warmup", "norm.placement=prores", true},
                    ApplyCase{"residual.warmup", "norm.placement=pre", false},
                    ApplyCase{"norm.pb_relax", "norm.placement=sandwich", true},
                    ApplyCase{"norm.pb_relax", "norm.placement=peri", false},
                    ApplyCase{"norm.eps", "norm.placement=geo", false},
                    ApplyCase{"norm.eps", "norm.placement=geo norm.inner=true", true},
                    ApplyCase{"norm.kind", "norm.placement=rezero", false},
                    ApplyCase{"norm.kind", "norm.placement=rezero norm.final=true", true},
                    ApplyCase{"norm.gain", "norm.placement=geo norm.embedding=true", true},
                    ApplyCase{"init.residual_scale", "norm.placement=peri", true},
                    ApplyCase{"init.residual_scale", "norm.placement=peri norm.gain=false", false},
                    ApplyCase{"init.residual_scale", "norm.placement=pre norm.gain=false", true},
                    ApplyCase{"train.warmup", "train.schedule=constant", false},
                    ApplyCase{"train.min_lr_ratio", "train.schedule=constant", false},
                    ApplyCase{"train.warmup", "train.schedule=wsd", true}));

TEST(Identity, IsTheHashOfTheCanonicalForm) {
  const RunConfig config = Make("seed=1 train.lr=6e-4 norm.placement=geo norm.decay=sqrt");
  const std::string canonical = config.CanonicalJson("abc");
  EXPECT_EQ(canonical,
            R"({"config":{"norm.decay":"sqrt","norm.final":false,"norm.placement":"geo",)"
            R"("seed.data":1,"seed.init":1,"train.lr":6e-04,"train.precision":"auto"},)"
            R"("dataset":"abc","trainer_math":1})");
  EXPECT_EQ(config.Identity("abc"), Sha256Hex(canonical).substr(0, 16));
  EXPECT_NE(config.Identity("abc"), config.Identity("abd"));
  EXPECT_NE(config.Identity("abc"), config.Identity("abc", kTrainerMath + 1));
}

// A literal: should this fail, identities of finished runs have changed, and no sweep links them.
TEST(Identity, StaysWhatItWas) {
  EXPECT_EQ(Make("train.precision=fp32 norm.placement=peri train.lr=0.003 seed=3")
                .Identity(Sha256Hex("data")),
            "a0f1562dde8117e1");
}

struct SameCase {
  const char* a;
  const char* b;
  bool same;
};

class SameRunTest : public testing::TestWithParam<SameCase> {};

TEST_P(SameRunTest, OrNot) {
  EXPECT_EQ(Identity(GetParam().a) == Identity(GetParam().b), GetParam().same)
      << GetParam().a << " against " << GetParam().b << "\n"
      << Make(GetParam().a).CanonicalJson("d") << "\n"
      << Make(GetParam().b).CanonicalJson("d");
}

INSTANTIATE_TEST_SUITE_P(
    Identity, SameRunTest,
    testing::Values(
        SameCase{"", "model.preset=nano", true}, SameCase{"", "model.layers=4 model.ffn=512", true},
        SameCase{"", "model.preset=micro", false},
        SameCase{"model.preset=micro", "model.layers=6 model.width=384 model.heads=6 train.lr=1e-3",
                 true},
        SameCase{"norm.placement=pre", "norm.placement=pre norm.decay=sqrt norm.alpha=3", true},
        SameCase{"norm.placement=geo", "norm.placement=geo residual.dt=0.1", true},
        SameCase{"norm.placement=geo", "norm.placement=geo norm.kind=rmsnorm norm.eps=1e-6", true},
        SameCase{"norm.placement=geo", "norm.placement=geo norm.decay=sqrt", false},
        SameCase{"norm.placement=geo norm.angle=prenorm",
                 "norm.placement=geo norm.angle=prenorm norm.decay=sqrt norm.retraction=cayley",
                 true},
        SameCase{"norm.placement=sandwich", "norm.placement=peri", true},
        SameCase{"norm.placement=sandwich norm.pb_relax=true", "norm.placement=peri", false},
        SameCase{"norm.placement=peri norm.pb_relax=true", "norm.placement=peri", true},
        SameCase{"norm.placement=sphere", "norm.placement=geo norm.decay=none", true},
        SameCase{"norm.placement=sphere norm.angle=prenorm", "norm.placement=geo norm.decay=none",
                 true},
        SameCase{"norm.placement=sphere norm.alpha=2", "norm.placement=geo norm.decay=none", false},
        SameCase{"", "eval.every=7 eval.batches=1 checkpoint.keep=9", true},
        SameCase{"", "probe.every=7 probe.sensitivity=true", true},
        SameCase{"", "train.micro_batch=2 train.deterministic=false data.name=other", true},
        SameCase{"", "train.batch=16", false},
        SameCase{"train.schedule=constant", "train.schedule=constant train.warmup=5", true},
        SameCase{"", "train.warmup=5", false}, SameCase{"seed=1", "", true},
        SameCase{"seed=2", "seed.init=2 seed.data=2", true},
        SameCase{"seed=2", "seed.init=2", false}));

TEST(RunConfigJson, ReadsNestedFlatAndMixed) {
  const auto nested = RunConfig::FromJson(json{{"norm", {{"placement", "geo"}}}, {"seed", 3}});
  ASSERT_THAT(nested, IsOk());
  EXPECT_EQ(*nested, Make("norm.placement=geo seed=3"));
  const auto flat = RunConfig::FromJson(
      json{{"norm.placement", "geo"}, {"seed", {{"init", 3}, {"data", 4}}}, {"train.lr", 1}});
  ASSERT_THAT(flat, IsOk());
  EXPECT_EQ(*flat, Make("norm.placement=geo seed.init=3 seed.data=4 train.lr=1"));
}

TEST(RunConfigJson, TellsAllErrorsAtOnce) {
  std::vector<ConfigError> errors;
  const auto document = ParseJson(R"({"norm": {"placment": "geo", "kind": 3, "eps": null},
      "model": {"width": 130, "layers": [1]}, "train": {"lr": "fast", "batch": 2.5}})");
  RunConfig::FromJson(*document, errors);
  std::vector<std::string> lines;
  for (const ConfigError& error : errors) lines.push_back(error.key + ": " + error.message);
  EXPECT_THAT(
      lines,
      ElementsAre("model.layers: found [1]; should be a whole number from 1 to 1024",
                  "norm.eps: found null; should be a number from 0 to 1",
                  "norm.kind: '3' is none of its values: layernorm, rmsnorm",
                  "norm.placment: 'norm.placment' is no knob; did you mean 'norm.placement'?",
                  "train.batch: found 2.5; should be a whole number from 1 to 1000000",
                  "train.lr: found fast; should be a number from 0 to 1000"));
  EXPECT_THAT(RunConfig::FromJson(*ParseJson(R"({"model": {"width": 130}})")),
              IsStatus(kInvalid, "model.heads: 4 heads do not divide a width of 130"));
  EXPECT_THAT(RunConfig::FromJson(json::array()),
              IsStatus(kInvalid, "config: found []; should be an object"));
}

TEST(RunConfigJson, IsResolvedAndReadsBackAsTheSameRun) {
  for (const PlacementFacts& facts : Placements()) {
    RunConfig config = Make("model.preset=gpt2-124m train.lr=3e-2 seed=5 norm.angle_clamp=0.5");
    ASSERT_THAT(config.Parse("norm.placement", facts.name), IsOk());
    const json document = config.ToJson();
    EXPECT_EQ(document["model"]["layers"], 12);
    EXPECT_EQ(document["norm"].contains("decay"), config.Applies("norm.decay")) << facts.name;
    const auto again = RunConfig::FromJson(document);
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->CanonicalJson("d"), config.CanonicalJson("d"));
    EXPECT_EQ(again->ToJson(), document);
    EXPECT_EQ(again->Observations(), config.Observations());
  }
}

TEST(RunConfigJson, FlatFormHasEveryKnob) {
  const json flat = Make("norm.placement=geo").ToFlatJson();
  EXPECT_EQ(flat.size(), Knobs().size());
  EXPECT_EQ(flat["norm.placement"], "geo");
  EXPECT_EQ(flat["train.micro_batch"], 8);
}

TEST(RunConfig, SetAndParseExplainThemselves) {
  RunConfig config;
  EXPECT_THAT(config.Set("norm.placment", KnobValue("geo")),
              IsStatus(absl::StatusCode::kNotFound,
                       "'norm.placment' is no knob; did you mean 'norm.placement'?"));
  EXPECT_THAT(config.Parse("train.lr", "-1"),
              IsStatus(kInvalid, "train.lr: found -1; should be a number from 0 to 1000"));
  EXPECT_THAT(config.Assignments(), IsEmpty());
}

TEST(RunConfig, ImpossibleCombinations) {
  EXPECT_EQ(JoinErrors(Make("model.heads=3 train.warmup=400 train.micro_batch=9").Validate()),
            "model.heads: 3 heads do not divide a width of 128\n"
            "train.warmup: 400 steps of warm-up are more than the 300 steps of train.steps\n"
            "train.micro_batch: 9 sequences at once are more than the 8 of train.batch");
  EXPECT_EQ(JoinErrors(Make("model.width=12 model.positions=rotary").Validate()),
            "model.positions: rotary positions need an even head width, not 12/4 = 3");
  EXPECT_THAT(Make("model.width=12").Validate(), IsEmpty());
  EXPECT_THAT(Make("train.warmup=400 train.schedule=constant").Validate(), IsEmpty());
}

}  // namespace
}  // namespace normlab
