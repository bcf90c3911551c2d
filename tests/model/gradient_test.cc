// Every backward pass of our own against central differences in fp64, at awkward shapes, on the
// kernels and on the composed reference.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "model/norm_ops.h"

namespace normlab::model {
namespace {

using at::Tensor;

// Rows × width: one of each, odd ones, more columns than any vector register holds.
const std::vector<std::pair<int64_t, int64_t>> kShapes = {
    {1, 1}, {1, 7}, {5, 3}, {7, 100}, {3, 257}};

class Source {
 public:
  Tensor Normal(std::initializer_list<int64_t> shape) {
    return at::randn(shape, generator_, at::kDouble);
  }
  Tensor Leaf(std::initializer_list<int64_t> shape, double mean = 0) {
    return (Normal(shape) + mean).set_requires_grad(true);
  }

 private:
  at::Generator generator_ = at::detail::createCPUGenerator(31);
};

using Function = std::function<Tensor()>;

// The derivative of Σ weights·f along a direction through each input, both ways. `direction` may
// change the direction of the input with that index.
void ExpectGradients(const Function& f, const std::vector<Tensor>& inputs, Source& source,
                     const std::function<void(size_t, Tensor&)>& direction = {}) {
  const Tensor y = f();
  const Tensor weights = source.Normal({y.numel()}).view(y.sizes());
  (y * weights).sum().backward();
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    const Tensor input = inputs[i].detach();  // shares its memory
    for (int repeat = 0; repeat < 3; ++repeat) {
      Tensor along = source.Normal({input.numel()}).view(input.sizes());
      if (direction) direction(i, along);
      constexpr double kStep = 1e-6;
      input.add_(along, kStep);
      const double up = (f() * weights).sum().item<double>();
      input.add_(along, -2 * kStep);
      const double down = (f() * weights).sum().item<double>();
      input.add_(along, kStep);
      const double numeric = (up - down) / (2 * kStep);
      const double analytic = (inputs[i].grad() * along).sum().item<double>();
      EXPECT_NEAR(analytic, numeric, 1e-7 * (1 + std::abs(numeric))) << "input " << i;
    }
  }
}

class Gradients : public testing::TestWithParam<bool> {
 protected:
  Gradients() { spec_.composed_norms = GetParam(); }
  NormParams Params(int64_t width, bool gain, bool bias) {
    return {gain ? source_.Leaf({width}, 1.0) : Tensor(), bias ? source_.Leaf({width}) : Tensor()};
  }
  ModelSpec spec_;
  Source source_;
};

TEST_P(Gradients, OfNorms) {
  for (const NormKind kind : {NormKind::kLayerNorm, NormKind::kRmsNorm}) {
    for (const auto& [rows, width] : kShapes) {
      for (const bool gain : {false, true}) {
        spec_.norm = {.kind = kind, .eps = 1e-2, .gain = gain};
        const NormParams params = Params(width, gain, gain && kind == NormKind::kLayerNorm);
        const Tensor x = source_.Leaf({rows, width}, 0.5);
        ExpectGradients([&] { return Normalise(spec_, params, x); }, {x, params.gain, params.bias},
                        source_);
      }
    }
  }
}

// No gradient flows through a row's maximum: along a direction that leaves it alone, the derivative
// is that of the function.
TEST_P(Gradients, OfPbRelaxedNorms) {
  for (const NormKind kind : {NormKind::kLayerNorm, NormKind::kRmsNorm}) {
    for (const auto& [rows, width] : kShapes) {
      spec_.norm = {.kind = kind, .eps = 1e-2, .pb_relax = true};
      const NormParams params = Params(width, true, kind == NormKind::kLayerNorm);
      const Tensor x = source_.Leaf({rows, width}, 0.5);
      const Tensor largest = x.detach().abs().argmax(-1, /*keepdim=*/true);
      ExpectGradients([&] { return Normalise(spec_, params, x); }, {x, params.gain, params.bias},
                      source_,
                      [&](size_t input, Tensor& along) {
                        if (input == 0) along.scatter_(-1, largest, 0.0);
                      });
    }
  }
}

TEST_P(Gradients, OfResidualUpdates) {
  enum class Scale { kNone, kScalar, kChannels };
  for (const auto& [rows, width] : kShapes) {
    for (const Scale kind : {Scale::kNone, Scale::kScalar, Scale::kChannels}) {
      for (const bool post : {false, true}) {
        spec_.norm = {.eps = 1e-2};
        const NormParams params = Params(width, post, post);
        JoinSpec join;
        join.a = 1.7;
        join.b = 0.3;
        if (kind == Scale::kScalar) join.scale = source_.Leaf({1}, 0.8);
        if (kind == Scale::kChannels) join.scale = source_.Leaf({width}, 0.8);
        if (post) join.post = &params;
        const Tensor x = source_.Leaf({rows, width});
        const Tensor u = source_.Leaf({rows, width});
        ExpectGradients([&] { return JoinBranch(spec_, join, x, u).x; },
                        {x, u, join.scale, params.gain, params.bias}, source_);
      }
    }
  }
}

// Both what the update gives out and its next norm feed the loss, as in the trainer.
TEST_P(Gradients, OfResidualUpdatesWithTheNextNorm) {
  for (const auto& [rows, width] : kShapes) {
    spec_.norm = {.eps = 1e-2};
    const NormParams next = Params(width, true, true);
    JoinSpec join;
    join.a = 1.7;
    join.b = 0.3;
    join.next = &next;
    const Tensor x = source_.Leaf({rows, width});
    const Tensor u = source_.Leaf({rows, width});
    const auto both = [&] {
      const Stream stream = JoinBranch(spec_, join, x, u);
      const Tensor normed =
          stream.normed.defined() ? stream.normed : Normalise(spec_, next, stream.x);
      return at::cat({stream.x, normed});
    };
    ExpectGradients(both, {x, u, next.gain, next.bias}, source_);
  }
}

TEST_P(Gradients, OfGeodesicSteps) {
  const AngleSpec angles[] = {{.alpha = 0.7},
                              {.alpha = 3.0},
                              {.alpha = 0.9, .clamp = 0.5},
                              {.alpha = 0.8, .retraction = Retraction::kProjection},
                              {.alpha = 1.3, .retraction = Retraction::kCayley},
                              {.fixed = true, .fixed_theta = 0.6},
                              {.alpha = 0.8, .affine = true}};
  for (const AngleSpec& angle : angles) {
    for (const auto& [rows, width] : kShapes) {
      if (width == 1) continue;  // a line has no direction to turn into
      SphereParams params;
      if (angle.affine) {
        params.scale = at::full({1}, 1.2, at::kDouble).set_requires_grad(true);
        params.bias = at::full({1}, 0.1, at::kDouble).set_requires_grad(true);
      }
      const Tensor x = source_.Leaf({rows, width});
      const Tensor v = source_.Leaf({rows, width});
      ExpectGradients([&] { return SphereStep(spec_, angle, params, x, v); },
                      {x, v, params.scale, params.bias}, source_);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, Gradients, testing::Bool(),
                         [](const auto& info) { return info.param ? "Composed" : "Kernels"; });

}  // namespace
}  // namespace normlab::model
