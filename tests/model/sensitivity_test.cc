// σ_max of a sublayer's branch by products with its Jacobian, against the singular values of the
// whole Jacobian; and the intervention of the Stability paper, propositions 7 and 8.

#include "model/probes/sensitivity.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "model/init.h"
#include "model/intervention.h"
#include "tests/builders/status_matchers.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

at::Tensor Tokens(const ModelSpec& spec, int64_t batch) {
  at::Generator generator = at::detail::createCPUGenerator(11);
  return at::randint(0, spec.vocab, {batch, spec.seq_len}, generator, at::kLong);
}

// A model away from its start: every parameter moved at random, so that gains, biases and learned
// scales matter.
struct Moved {
  explicit Moved(const ModelSpec& given)
      : spec(given), parameters(given), model(given, parameters) {
    InitialiseParameters(spec, parameters);
    const at::NoGradGuard no_grad;
    at::Generator generator = at::detail::createCPUGenerator(5);
    const at::Tensor noise =
        at::randn(parameters.values().sizes(), generator, parameters.values().options());
    parameters.values().detach().add_(noise, 0.2);
    ForwardOptions options;
    options.tape = &tape;
    model.Forward(Tokens(spec, 2), options);
  }
  ModelSpec spec;
  Parameters parameters;
  Transformer model;
  Tape tape;
};

// The Jacobian of one sequence [T·d, T·d], row by row, by first derivatives of the model as it
// trains: kernels, no derivative of a derivative.
at::Tensor WholeJacobian(const Moved& run, int64_t sublayer, int64_t sequence) {
  const at::Tensor x =
      run.tape.hidden[sublayer].narrow(0, sequence, 1).detach().clone().set_requires_grad(true);
  ForwardOptions options;
  options.attention = AttentionPath::kMath;  // the fused one refuses some of these tiny shapes
  const at::Tensor y = run.model.Branch(sublayer, x, options).view(-1);
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < y.numel(); ++i) {
    rows.push_back(torch::autograd::grad({y[i]}, {x}, {}, /*retain_graph=*/true)[0].view(-1));
  }
  return at::stack(rows);
}

double LargestOf(const at::Tensor& jacobian) {
  return at::linalg_svdvals(jacobian)[0].item<double>();
}

ModelSpec BiasedSpec(const std::string& placement, const char* kind) {
  RunConfig config = TinyConfig(placement);
  for (const auto& [key, text] : {std::pair{"train.precision", "fp64"},
                                  {"model.bias", "true"},
                                  {"model.seq_len", "7"},
                                  {"norm.kind", kind}}) {
    if (config.Applies(key)) CHECK_OK(config.Parse(key, text));
  }
  return MakeModelSpec(config, 29);
}

class Sensitivity : public testing::TestWithParam<const char*> {};

TEST_P(Sensitivity, IsTheLargestSingularValueOfTheJacobian) {
  for (const char* kind : {"layernorm", "rmsnorm"}) {
    const Moved run(BiasedSpec(GetParam(), kind));
    const auto profiles = SensitivityProfiles(run.spec, run.parameters, run.tape, 6);
    ASSERT_EQ(profiles.size(), 1u);
    EXPECT_EQ(profiles[0].key, "sensitivity");
    EXPECT_EQ(profiles[0].first_index, 1);
    EXPECT_EQ(profiles[0].step, 6);
    ASSERT_EQ(profiles[0].values.size(), run.spec.sublayers.size());
    for (int64_t s = 0; s < static_cast<int64_t>(run.spec.sublayers.size()); ++s) {
      const double exact = LargestOf(WholeJacobian(run, s, 0));
      // What the fixed number of iterations gives.
      EXPECT_NEAR(profiles[0].values[s] / exact, 1.0, 5e-3) << kind << " " << s;
      EXPECT_LE(profiles[0].values[s], exact * (1 + 1e-12)) << "an estimate from below";
    }
  }
}

TEST_P(Sensitivity, IsExactWithEnoughIterationsAndBySequence) {
  const Moved run(BiasedSpec(GetParam(), "layernorm"));
  const Transformer model = DifferentiableTwice(run.spec, run.parameters);
  ForwardOptions options;
  options.attention = AttentionPath::kMath;
  for (int64_t s = 0; s < 2; ++s) {
    const at::Tensor sigma = LargestSingularValue(
        BidiagonalJacobian([&](const at::Tensor& x) { return model.Branch(s, x, options); },
                           run.tape.hidden[s], 3, 60));
    ASSERT_EQ(sigma.sizes(), at::IntArrayRef({2}));
    for (int64_t b = 0; b < 2; ++b) {
      const double exact = LargestOf(WholeJacobian(run, s, b));
      EXPECT_NEAR(sigma[b].item<double>() / exact, 1.0, 1e-10) << s << " " << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Some, Sensitivity,
                         testing::Values("pre", "post", "peri", "geo", "lns", "rezero", "mix"));

at::Tensor LinearMap(const at::Tensor& matrix, const at::Tensor& x) {
  return at::matmul(x.flatten(1), matrix.t()).view(x.sizes());
}

// What the iteration meets at its edges: a Jacobian of zeros, one of low rank, more iterations than
// there are dimensions, and values that are not finite.
TEST(SensitivityEdges, SmallAndSingularJacobians) {
  at::Generator generator = at::detail::createCPUGenerator(2);
  const at::Tensor x = at::randn({1, 2, 3}, generator, at::kDouble);
  const at::Tensor full = at::randn({6, 6}, generator, at::kDouble);
  const at::Tensor column = at::randn({6, 1}, generator, at::kDouble);
  for (const at::Tensor& matrix : {full, at::matmul(column, column.t()), at::zeros_like(full)}) {
    const at::Tensor form =
        BidiagonalJacobian([&](const at::Tensor& in) { return LinearMap(matrix, in); }, x, 1, 50);
    EXPECT_EQ(form.sizes(), at::IntArrayRef({1, 6, 6}));
    EXPECT_NEAR(LargestSingularValue(form).item<double>(), LargestOf(matrix), 1e-12);
  }
  const at::Tensor broken = BidiagonalJacobian(
      [&](const at::Tensor& in) { return LinearMap(full * std::nan(""), in); }, x, 1, 4);
  EXPECT_TRUE(std::isnan(LargestSingularValue(broken).item<double>()));
}

std::vector<Intervention> Intervene(const std::string& placement) {
  RunConfig config = TinyConfig(placement);
  CHECK_OK(config.Parse("train.precision", "fp64"));
  CHECK_OK(config.Parse("model.bias", "true"));
  // eps is what keeps an output norm from being blind to scale.
  if (config.Applies("norm.eps")) CHECK_OK(config.Parse("norm.eps", "0"));
  const Moved run(MakeModelSpec(config, 29));
  return ScaleOutputProjections(run.spec, run.parameters, Tokens(run.spec, 2), 1);
}

// Proposition 7: the branch of Pre-LN is as sensitive as its output projection is large. So is any
// branch without an output norm.
TEST(Intervention, SlopeIsOneWithoutAnOutputNorm) {
  for (const char* placement : {"pre", "post", "geo"}) {
    for (const Intervention& result : Intervene(placement)) {
      EXPECT_NEAR(result.slope, 1.0, 1e-9) << placement << " " << result.sublayer;
    }
  }
}

// Proposition 8: behind an output norm it does not matter.
TEST(Intervention, SlopeIsZeroBehindAnOutputNorm) {
  for (const char* placement : {"peri", "res-post"}) {
    for (const Intervention& result : Intervene(placement)) {
      EXPECT_NEAR(result.slope, 0.0, 1e-9) << placement << " " << result.sublayer;
      EXPECT_GT(result.sigma_max[0], 0.0);
    }
  }
}

TEST(Intervention, LeavesTheModelAsItWas) {
  const Moved run(TinySpec("pre"));
  const at::Tensor before = run.parameters.values().clone();
  ScaleOutputProjections(run.spec, run.parameters, Tokens(run.spec, 2), 1);
  EXPECT_TRUE(at::equal(before, run.parameters.values()));
}

}  // namespace
}  // namespace normlab::model
