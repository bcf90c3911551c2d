// What holds for placements as such; their numbers are held against an independent implementation
// in tests/golden.

#include "model/placement_table.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/init.h"
#include "model/norm.h"
#include "model/transformer.h"
#include "tests/model/every_placement.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

at::Tensor Tokens(int64_t batch, int64_t length, int64_t vocab) {
  at::Generator generator = at::detail::createCPUGenerator(17);
  return at::randint(0, vocab, {batch, length}, generator, at::kLong);
}

struct Model {
  explicit Model(const ModelSpec& spec) : parameters(spec), transformer(spec, parameters) {
    InitialiseParameters(spec, parameters);
  }
  Parameters parameters;
  Transformer transformer;
};

double InitialLoss(const ModelSpec& spec) {
  const Model model(spec);
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = Tokens(4, spec.seq_len + 1, spec.vocab);
  const at::Tensor logits = model.transformer.Forward(tokens.narrow(1, 0, spec.seq_len), {});
  const at::Tensor targets = tokens.narrow(1, 1, spec.seq_len).contiguous();
  return CrossEntropyBySequence(logits, targets).mean().item<double>();
}

class EveryPlacement : public testing::TestWithParam<std::string> {};

// SCIENCE: initial loss ≤ ln V + 0.5, tied and untied, at preset nano.
TEST_P(EveryPlacement, StartsNearTheUniformLoss) {
  for (const char* tied : {"true", "false"}) {
    RunConfig config;
    CHECK_OK(config.Parse("norm.placement", GetParam()));
    CHECK_OK(config.Parse("model.tied_head", tied));
    const ModelSpec spec = MakeModelSpec(config, 256);
    EXPECT_LE(InitialLoss(spec), std::log(256.0) + 0.5) << tied;
  }
}

// The kernels and the composed reference are one mathematics.
TEST_P(EveryPlacement, KernelsAndReferenceAgree) {
  for (const char* kind : {"layernorm", "rmsnorm"}) {
    RunConfig config = TinyConfig(GetParam());
    CHECK_OK(config.Parse("train.precision", "fp64"));
    if (config.Applies("norm.kind")) CHECK_OK(config.Parse("norm.kind", kind));
    CHECK_OK(config.Parse("model.bias", "true"));
    ModelSpec spec = MakeModelSpec(config, 29);
    const at::Tensor tokens = Tokens(2, spec.seq_len, spec.vocab);
    std::vector<at::Tensor> logits, grads;
    for (const bool composed : {false, true}) {
      spec.composed_norms = composed;
      Model model(spec);
      logits.push_back(model.transformer.Forward(tokens, {.step = 3}));
      CrossEntropySum(logits.back(), tokens).backward();
      grads.push_back(model.parameters.grads().clone());
    }
    EXPECT_LE((logits[0] - logits[1]).abs().max().item<double>(), 1e-12) << kind;
    EXPECT_LE((grads[0] - grads[1]).abs().max().item<double>(),
              1e-11 * grads[1].abs().max().item<double>())
        << kind;
  }
}

// Looking at the stream takes the residual update and the next norm apart (transformer.cc), which
// must not show in any bit: what is observed is no part of a run's identity.
TEST_P(EveryPlacement, WatchingTheStreamChangesNoBit) {
  for (const char* precision : {"fp32", "bf16"}) {
    RunConfig config = TinyConfig(GetParam());
    CHECK_OK(config.Parse("model.width", "100"));
    CHECK_OK(config.Parse("train.precision", precision));
    const ModelSpec spec = MakeModelSpec(config, 29);
    const at::Tensor tokens = Tokens(2, spec.seq_len, spec.vocab);
    std::vector<at::Tensor> grads;
    int64_t seen = 0;
    for (const bool watch : {false, true}) {
      Model model(spec);
      ForwardOptions options;
      if (watch) options.on_stream = [&](size_t, const at::Tensor&) { ++seen; };
      CrossEntropySum(model.transformer.Forward(tokens, options), tokens).backward();
      grads.push_back(model.parameters.grads().clone());
    }
    EXPECT_EQ(seen, 2 * spec.layers + 1);
    EXPECT_TRUE(at::equal(grads[0], grads[1])) << precision;
  }
}

// Awkward shapes: width 100, length 7, one layer.
TEST_P(EveryPlacement, RunsAtAwkwardShapes) {
  RunConfig config = TinyConfig(GetParam());
  for (const auto& [key, text] : {std::pair{"model.layers", "1"},
                                  {"model.width", "100"},
                                  {"model.heads", "5"},
                                  {"model.seq_len", "7"}}) {
    CHECK_OK(config.Parse(key, text));
  }
  const ModelSpec spec = MakeModelSpec(config, 29);
  Model model(spec);
  const at::Tensor tokens = Tokens(3, 7, 29);
  const at::Tensor logits = model.transformer.Forward(tokens, {});
  EXPECT_EQ(logits.sizes(), (at::IntArrayRef{3, 7, 29}));
  CrossEntropySum(logits, tokens).backward();
  EXPECT_TRUE(model.parameters.grads().isfinite().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(All, EveryPlacement, EachPlacement(), PlacementTestName);

// (10) `deep` with α = β = 1 equals `post`.
TEST(Placements, DeepWithoutItsConstantsIsPost) {
  ModelSpec post = TinySpec("post");
  ModelSpec deep = TinySpec("deep");
  for (SublayerSpec& sublayer : deep.sublayers) {
    EXPECT_DOUBLE_EQ(sublayer.a, std::pow(4.0, 0.25));
    sublayer.a = 1;
    sublayer.init = InitRule::kPlain;
  }
  const at::Tensor tokens = Tokens(2, post.seq_len, post.vocab);
  const at::Tensor one = Model(post).transformer.Forward(tokens, {});
  const at::Tensor two = Model(deep).transformer.Forward(tokens, {});
  EXPECT_TRUE(at::equal(one, two));
}

// (11) The block stack of `peri` with Δt = 0 is the identity.
TEST(Placements, PeriWithoutStepsIsTheIdentity) {
  RunConfig config = TinyConfig("peri");
  CHECK_OK(config.Parse("residual.dt", "0"));
  const ModelSpec spec = MakeModelSpec(config, 29);
  const Model model(spec);
  Tape tape;
  model.transformer.Forward(Tokens(2, spec.seq_len, 29), {.tape = &tape});
  EXPECT_TRUE(at::equal(tape.hidden.front(), tape.hidden.back()));
}

// (12) `sandwich` is `peri` in the canonical config; PB-relax acts by row, and through eps only.
TEST(Placements, SandwichIsPeri) {
  EXPECT_EQ(TinyConfig("sandwich").CanonicalJson("sha"), TinyConfig("peri").CanonicalJson("sha"));
  RunConfig relaxed = TinyConfig("sandwich");
  CHECK_OK(relaxed.Parse("norm.pb_relax", "true"));
  EXPECT_NE(relaxed.CanonicalJson("sha"), TinyConfig("peri").CanonicalJson("sha"));
  const at::Tensor x = at::randn({4, 20}, at::kDouble) * 50;
  const NormSpec exact{.eps = 0, .gain = false};
  NormSpec pb = exact;
  pb.pb_relax = true;
  EXPECT_LE(
      (ComposedNorm(pb, x, {}, {}) - ComposedNorm(exact, x, {}, {})).abs().max().item<double>(),
      1e-13);
  pb.eps = 1e-3;
  const at::Tensor alone = ComposedNorm(pb, x.narrow(0, 2, 1), {}, {});
  EXPECT_TRUE(at::equal(alone, ComposedNorm(pb, x, {}, {}).narrow(0, 2, 1)));
}

// DeepNorm's constants, decoder-only (DeepNet paper, table 1).
TEST(Placements, DeepNormConstants) {
  const struct {
    int64_t layers;
    double alpha, beta;
  } rows[] = {{12, 2.2134, 0.3195}, {24, 2.6321, 0.2686}, {48, 3.1302, 0.2259}};
  for (const auto& row : rows) {
    RunConfig config = TinyConfig("deep");
    CHECK_OK(config.Parse("model.layers", std::to_string(row.layers)));
    const ModelSpec spec = MakeModelSpec(config, 29);
    EXPECT_NEAR(spec.sublayers[0].a, row.alpha, 5e-5);
    const Model model(spec);
    const auto deviation = [&](const char* name) {
      return model.parameters.Find(name).std().item<double>();
    };
    const double xavier = std::sqrt(2.0 / (16 + 64));
    EXPECT_NEAR(deviation("blocks.0.ffn.up.weight") / xavier, row.beta, 0.03);
  }
}

// GeoNorm puts the embedding on radius √d in every forward pass.
TEST(Placements, SphereStreamsLiveOnRadiusRootD) {
  for (const char* placement : {"geo", "sphere", "geo-affine"}) {
    const ModelSpec spec = TinySpec(placement);
    const Model model(spec);
    Tape tape;
    model.transformer.Forward(Tokens(2, spec.seq_len, spec.vocab), {.tape = &tape});
    for (const at::Tensor& hidden : tape.hidden) {
      const at::Tensor radius = hidden.square().sum(-1).sqrt();
      EXPECT_LE((radius - 4.0).abs().max().item<double>(), 1e-12) << placement;
    }
  }
}

// The same seed gives the same weights where shapes and deviations agree, and the same normals
// wherever shapes agree.
TEST(Placements, ArmsStartFromTheSameNormals) {
  const Model pre(TinySpec("pre")), peri(TinySpec("peri")), geo(TinySpec("geo"));
  for (const Parameter& parameter : pre.parameters.all()) {
    const std::string& name = parameter.shape.name;
    EXPECT_TRUE(at::equal(parameter.value, peri.parameters.Find(name))) << name;
    const at::Tensor other = geo.parameters.Find(name);
    if (!other.defined() || parameter.shape.shape.size() < 2) continue;
    const at::Tensor ratio = parameter.value / other;
    EXPECT_LE((ratio / ratio.view(-1)[0] - 1.0).abs().max().item<double>(), 1e-12) << name;
  }
  EXPECT_TRUE(at::equal(pre.parameters.Find("embed.token"), geo.parameters.Find("embed.token")));
}

TEST(Presets, ParameterCounts) {
  const struct {
    const char* preset;
    int64_t vocab, count;
  } rows[] = {{"nano", 256, 836736},
              {"micro", 256, 10769280},
              {"gpt2-124m", 50304, 124373760},
              {"gpt2-774m", 50304, 773582080},
              {"gpt2-1558m", 50304, 1556840000},
              {"neox-125m", 50304, 162322944},
              {"neox-350m", 50304, 405334016},
              {"neox-760m", 50304, 834493440},
              {"neox-1.3b", 50304, 1414647808}};
  for (const auto& row : rows) {
    RunConfig config;
    CHECK_OK(config.Parse("model.preset", row.preset));
    if (std::string(row.preset) != "nano" && std::string(row.preset) != "micro") {
      CHECK_OK(config.Parse("model.seq_len", "1024"));
    }
    EXPECT_EQ(ParameterCount(MakeModelSpec(config, row.vocab)), row.count) << row.preset;
  }
}

}  // namespace
}  // namespace normlab::model
