// AdamW and clipping against their formulas, written out in plain loops.

#include "model/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/init.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

TEST(AdamW, FiftyStepsEqualTheFormula) {
  const ModelSpec spec = TinySpec("pre");
  Parameters parameters(spec);
  InitialiseParameters(spec, parameters);
  const AdamWOptions options{.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1};
  AdamW optimizer(options, parameters);
  const int64_t n = parameters.values().numel();
  const double* start = parameters.values().const_data_ptr<double>();
  std::vector<double> p(start, start + n), m(n), v(n);
  for (int64_t t = 1; t <= 50; ++t) {
    at::Generator generator = at::detail::createCPUGenerator(t);
    const at::Tensor gradient = at::randn({n}, generator, at::kDouble);
    parameters.grads().copy_(gradient);
    const double lr = 1e-2 / static_cast<double>(t);
    optimizer.Step(t, lr);
    const double* g = gradient.const_data_ptr<double>();
    for (int64_t i = 0; i < n; ++i) {
      if (i < parameters.decayed()) p[i] *= 1 - lr * options.weight_decay;
      m[i] = options.beta1 * m[i] + (1 - options.beta1) * g[i];
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g[i] * g[i];
      const double root = std::sqrt(v[i]) / std::sqrt(1 - std::pow(options.beta2, t));
      p[i] -= lr / (1 - std::pow(options.beta1, t)) * m[i] / (root + options.eps);
    }
  }
  const double* end = parameters.values().const_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(end[i], p[i], 1e-10) << i;
}

TEST(AdamW, DecayReachesMatricesOnly) {
  const ModelSpec spec = TinySpec("pre");
  Parameters parameters(spec);
  InitialiseParameters(spec, parameters);
  const at::Tensor before = parameters.values().clone();
  AdamW(AdamWOptions{.weight_decay = 0.5}, parameters).Step(1, 0.1);  // gradients are zero
  for (const Parameter& parameter : parameters.all()) {
    const double factor = parameter.shape.shape.size() >= 2 ? 0.95 : 1.0;
    EXPECT_TRUE(at::allclose(parameter.value, parameters.ViewOf(before, parameter) * factor))
        << parameter.shape.name;
  }
}

TEST(Clipping, ScalesToTheLimitAndNotBelow) {
  Parameters parameters(TinySpec("pre"));
  const at::Tensor grads = parameters.grads();
  grads.fill_(2.0);
  const double norm = GradNorm(parameters);
  EXPECT_NEAR(norm, 2.0 * std::sqrt(static_cast<double>(grads.numel())), 1e-10);
  EXPECT_EQ(ClipGradients(parameters, norm, norm * 2), 1.0);
  EXPECT_EQ(ClipGradients(parameters, norm, 0), 1.0);  // off
  EXPECT_NEAR(ClipGradients(parameters, norm, 1.0), 1.0 / (norm + 1e-6), 1e-15);
  EXPECT_NEAR(GradNorm(parameters), 1.0, 1e-6);
}

// Squares of a thousandth beside 1: a sum in fp32 would lose digits of them.
TEST(Clipping, TheNormOfSinglePrecisionIsSummedInDouble) {
  Parameters parameters(TinySpec("pre", "fp32"));
  const at::Tensor& grads = parameters.grads();
  grads.fill_(1e-3f);
  grads[0].fill_(1.0f);
  const double rest = static_cast<double>(1e-3f) * static_cast<double>(1e-3f);
  const double norm = std::sqrt(1.0 + static_cast<double>(grads.numel() - 1) * rest);
  EXPECT_NEAR(GradNorm(parameters), norm, 1e-13 * norm);
}

TEST(Clipping, LetsNanThrough) {
  Parameters parameters(TinySpec("pre"));
  parameters.grads()[0].fill_(std::nan(""));
  const double norm = GradNorm(parameters);
  EXPECT_TRUE(std::isnan(norm));
  ClipGradients(parameters, norm, 1.0);
  EXPECT_TRUE(parameters.grads().isnan().all().item<bool>());
}

}  // namespace
}  // namespace normlab::model
