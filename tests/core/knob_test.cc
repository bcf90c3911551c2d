#include "core/knob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/run_config.h"
#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

const Knob& KnobOf(std::string_view key) { return *FindKnob(key); }

TEST(KnobTable, EveryRowIsWhole) {
  std::set<std::string_view> keys;
  for (const Knob& knob : Knobs()) {
    SCOPED_TRACE(knob.key);
    EXPECT_TRUE(keys.insert(knob.key).second);
    EXPECT_EQ(FindKnob(knob.key), &knob);
    EXPECT_FALSE(knob.help.empty());
    EXPECT_LE(knob.help.size(), 110u);
    EXPECT_EQ(knob.help.find('\n'), std::string_view::npos);
    EXPECT_EQ(knob.applies == nullptr, knob.applies_note.empty());
    EXPECT_EQ(knob.default_of == nullptr, knob.default_note.empty());
    EXPECT_EQ(knob.type == KnobType::kChoice, !knob.choices.empty());
    EXPECT_THAT(CheckValue(knob, knob.default_value), IsOk());
    EXPECT_EQ(RunConfig().Value(knob.key), knob.default_value) << "shown as default in tables";
    if (knob.affects == Affects::kResult) {
      EXPECT_THAT(CheckValue(knob, knob.identity_default), IsOk());
    }
  }
}

// Changing one of these gives every old run a new identity: add knobs, never edit this list.
TEST(KnobTable, IdentityDefaultsAreFrozen) {
  const std::vector<std::pair<std::string_view, std::string>> frozen = {
      {"model.layers", "4"},
      {"model.width", "128"},
      {"model.heads", "4"},
      {"model.ffn", "512"},
      {"model.seq_len", "128"},
      {"model.vocab", "0"},
      {"model.positions", "learned"},
      {"model.tied_head", "true"},
      {"model.bias", "false"},
      {"model.activation", "gelu"},
      {"norm.placement", "pre"},
      {"norm.kind", "layernorm"},
      {"norm.eps", "1e-05"},
      {"norm.gain", "true"},
      {"norm.decay", "harmonic"},
      {"norm.alpha", "1"},
      {"norm.decay_unit", "block"},
      {"norm.retraction", "exp"},
      {"norm.angle", "adaptive"},
      {"norm.angle_clamp", "off"},
      {"norm.pb_relax", "false"},
      {"norm.inner", "false"},
      {"norm.final", "true"},
      {"norm.embedding", "false"},
      {"residual.dt", "1"},
      {"residual.scale", "0.22"},
      {"residual.warmup", "1000"},
      {"init.scheme", "placement"},
      {"init.std", "0.02"},
      {"init.output_scale", "1"},
      {"init.residual_scale", "1"},
      {"train.steps", "300"},
      {"train.batch", "8"},
      {"train.precision", "fp32"},
      {"train.lr", "0.003"},
      {"train.warmup", "30"},
      {"train.schedule", "cosine"},
      {"train.min_lr_ratio", "0.1"},
      {"train.beta1", "0.9"},
      {"train.beta2", "0.95"},
      {"train.adam_eps", "1e-08"},
      {"train.weight_decay", "0.1"},
      {"train.clip", "1"},
      {"seed.init", "0"},
      {"seed.data", "0"}};
  std::vector<std::pair<std::string_view, std::string>> found;
  for (const Knob& knob : Knobs()) {
    if (knob.affects != Affects::kResult) continue;
    found.emplace_back(knob.key, FormatValue(knob, knob.identity_default));
  }
  EXPECT_EQ(found, frozen);
}

TEST(Knob, ValuesAreCheckedAndConverted) {
  EXPECT_EQ(*CheckValue(KnobOf("train.lr"), int64_t{1}), KnobValue(1.0));
  EXPECT_EQ(*CheckValue(KnobOf("train.steps"), 300.0), KnobValue(int64_t{300}));
  EXPECT_EQ(*CheckValue(KnobOf("norm.angle_clamp"), std::string("off")), KnobValue(0.0));
  EXPECT_EQ(*CheckValue(KnobOf("norm.angle_clamp"), false), KnobValue(0.0));
  EXPECT_EQ(*ParseValue(KnobOf("model.bias"), "on"), KnobValue(true));
  EXPECT_EQ(*ParseValue(KnobOf("train.steps"), "1e3"), KnobValue(int64_t{1000}));
  EXPECT_EQ(FormatValue(KnobOf("norm.angle_clamp"), 0.0), "off");
  EXPECT_EQ(FormatValue(KnobOf("train.lr"), 6e-4), "6e-04");
}

struct BadValue {
  const char* key;
  const char* text;
  const char* message;
};

class BadValueTest : public testing::TestWithParam<BadValue> {};

TEST_P(BadValueTest, SaysWhatWouldBeRight) {
  EXPECT_THAT(ParseValue(KnobOf(GetParam().key), GetParam().text),
              IsStatus(kInvalid, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Knob, BadValueTest,
    testing::Values(
        BadValue{"norm.placement", "Post", "'Post' is none of its values; did you mean 'post'?"},
        BadValue{"train.schedule", "step",
                 "'step' is none of its values: cosine, wsd, linear, "
                 "constant"},
        BadValue{"model.layers", "-1", "found -1; should be a whole number from 1 to 1024"},
        BadValue{"model.layers", "two", "found 'two'; should be a whole number from 1 to 1024"},
        BadValue{"train.lr", "nan", "found 'nan'; should be a number from 0 to 1000"},
        BadValue{"train.lr", "1e999", "found '1e999'; should be a number from 0 to 1000"},
        BadValue{"init.std", "0", "found 0; should be a number above 0 to 10"},
        BadValue{"train.beta2", "1", "found 1; should be a number from 0 to below 1"},
        BadValue{"train.clip", "-1", "found -1; should be a number from 0 to 1e+09, or off"},
        BadValue{"model.bias", "maybe", "found 'maybe'; should be true or false"}));

TEST(Knob, NearestNames) {
  EXPECT_EQ(NearestKnob("norm.placment"), "norm.placement");
  EXPECT_EQ(NearestKnob("placement"), "norm.placement");
  EXPECT_EQ(NearestKnob("lr"), "train.lr");
  EXPECT_EQ(NearestKnob("model.lr"), "train.lr");
  EXPECT_EQ(NearestKnob("residual.td"), "residual.dt");
  EXPECT_EQ(NearestKnob("trian.steps"), "train.steps");
  EXPECT_EQ(NearestKnob("something.else"), "");
}

}  // namespace
}  // namespace normlab
