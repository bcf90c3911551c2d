// The acceptance tests of the geodesic step (GeoNorm paper, section 3), on the reference path and
// on the kernels alike: parameter `composed` of every test.

#include "model/geodesic.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "model/norm.h"
#include "model/norm_ops.h"

namespace normlab::model {
namespace {

using at::Tensor;

class Geodesic : public testing::TestWithParam<bool> {
 protected:
  Tensor Step(const AngleSpec& angle, const Tensor& x, const Tensor& v, const Tensor& scale = {},
              const Tensor& bias = {}) {
    ModelSpec spec;
    spec.composed_norms = GetParam();
    return SphereStep(spec, angle, {scale, bias, {}}, x, v);
  }
};

Tensor Random(std::initializer_list<int64_t> shape, uint64_t seed,
              at::ScalarType type = at::kDouble) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::kDouble).to(type);
}

Tensor UnitRms(const Tensor& x) { return OntoSphere(x); }

Tensor Norms(const Tensor& x) { return x.to(at::kDouble).square().sum(-1).sqrt(); }

double MaxAbs(const Tensor& x) { return x.abs().max().item<double>(); }

std::vector<AngleSpec> AllKinds() {
  AngleSpec plain{.alpha = 0.7};
  AngleSpec clamped{.alpha = 0.9, .clamp = 0.5};
  AngleSpec fixed{.fixed = true, .fixed_theta = 0.6};
  AngleSpec projection{.alpha = 0.8, .retraction = Retraction::kProjection};
  AngleSpec cayley{.alpha = 1.3, .retraction = Retraction::kCayley};
  AngleSpec far{.alpha = 3.0};
  return {plain, clamped, fixed, projection, cayley, far};
}

// (1) ‖x'‖ = ‖x‖ to C·(1 + |α_k c|)·2⁻²³ in fp32 with C = 4.
TEST_P(Geodesic, KeepsTheNormInSinglePrecision) {
  for (const double along : {0.0, 1.0, 30.0, 300.0}) {
    const Tensor x = Random({64, 128}, 1, at::kFloat);
    const Tensor v = along * x + Random({64, 128}, 2, at::kFloat) * 0.3;
    const AngleSpec angle{.alpha = 0.7};
    const Tensor y = Step(angle, x, v);
    const Tensor c = (x * v).sum(-1).to(at::kDouble) / Norms(x).square();
    const Tensor bound = 4.0 * (1.0 + (angle.alpha * c).abs()) * std::pow(2.0, -23);
    EXPECT_TRUE(((Norms(y) / Norms(x) - 1.0).abs() <= bound).all().item<bool>()) << along;
  }
}

// (1) in bf16: 5e-3 over 96 updates.
TEST_P(Geodesic, KeepsTheNormOverNinetySixBf16Updates) {
  Tensor x = UnitRms(Random({16, 768}, 3)).to(at::kBFloat16);
  const Tensor start = Norms(x);
  for (int k = 1; k <= 96; ++k) {
    const Tensor v = Random({16, 768}, 100 + k).to(at::kBFloat16);
    x = Step({.alpha = 0.1}, x.to(at::kFloat), v.to(at::kFloat)).to(at::kBFloat16);
  }
  EXPECT_LE(MaxAbs(Norms(x) / start - 1.0), 5e-3);
}

// (2) dL/dg ⟂ x.
TEST_P(Geodesic, BranchGradientIsTangent) {
  for (const AngleSpec& angle : AllKinds()) {
    const Tensor x = Random({8, 40}, 4);
    const Tensor v = Random({8, 40}, 5).requires_grad_(true);
    (Step(angle, x, v) * Random({8, 40}, 6)).sum().backward();
    const Tensor along = (v.grad() * x).sum(-1).abs() / (Norms(v.grad()) * Norms(x));
    EXPECT_LE(MaxAbs(along), 1e-14) << angle.alpha;
  }
}

// (3) Central differences of x, v, scale and bias.
TEST_P(Geodesic, GradientsMatchFiniteDifferences) {
  std::vector<AngleSpec> kinds = AllKinds();
  kinds.push_back({.alpha = 0.8, .affine = true});
  kinds.push_back({.alpha = 0.8, .clamp = 0.6, .affine = true});
  for (const AngleSpec& angle : kinds) {
    Tensor x = Random({3, 12}, 7), v = Random({3, 12}, 8), g = Random({3, 12}, 9);
    Tensor scale, bias;
    if (angle.affine) {
      scale = at::full({1}, 1.2, at::kDouble);
      bias = at::full({1}, 0.1, at::kDouble);
    }
    for (Tensor* input : {&x, &v, &scale, &bias}) {
      if (input->defined()) input->requires_grad_(true);
    }
    (Step(angle, x, v, scale, bias) * g).sum().backward();
    const at::NoGradGuard no_grad;
    for (Tensor* input : {&x, &v, &scale, &bias}) {
      if (!input->defined()) continue;
      Tensor flat = input->view(-1);
      for (int64_t i = 0; i < flat.numel(); ++i) {
        constexpr double kStep = 1e-6;
        const double at = flat[i].item<double>();
        flat[i] = at + kStep;
        const double up = (Step(angle, x, v, scale, bias) * g).sum().item<double>();
        flat[i] = at - kStep;
        const double down = (Step(angle, x, v, scale, bias) * g).sum().item<double>();
        flat[i] = at;
        EXPECT_NEAR((up - down) / (2 * kStep), input->grad().view(-1)[i].item<double>(), 1e-7);
      }
    }
  }
}

// (4) v ∥ x and v = 0 return x, with finite gradients.
TEST_P(Geodesic, ParallelAndZeroBranchesReturnTheStream) {
  for (const AngleSpec& angle : AllKinds()) {
    for (const double factor : {0.0, 2.0, -3.0}) {
      const Tensor x = Random({5, 33}, 10).requires_grad_(true);
      const Tensor v = (x.detach() * factor).requires_grad_(true);
      const Tensor y = Step(angle, x, v);
      EXPECT_LE(MaxAbs(y - x), 1e-13) << angle.alpha << " " << factor;
      y.sum().backward();
      EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
      EXPECT_TRUE(v.grad().isfinite().all().item<bool>());
    }
  }
}

// x = 0: passed through, dx = upstream, dv = 0.
TEST_P(Geodesic, ZeroRowsArePassedThrough) {
  for (const AngleSpec& angle : AllKinds()) {
    const Tensor x = at::zeros({2, 8}, at::kDouble).requires_grad_(true);
    const Tensor v = Random({2, 8}, 11).requires_grad_(true);
    const Tensor g = Random({2, 8}, 12);
    const Tensor y = Step(angle, x, v);
    (y * g).sum().backward();
    EXPECT_EQ(MaxAbs(y), 0);
    EXPECT_EQ(MaxAbs(x.grad() - g), 0);
    EXPECT_EQ(MaxAbs(v.grad()), 0);
  }
}

// (5) Scaling x and v by s scales x' by s.
TEST_P(Geodesic, IsHomogeneous) {
  for (const AngleSpec& angle : AllKinds()) {
    const Tensor x = Random({6, 50}, 13), v = Random({6, 50}, 14);
    const Tensor y = Step(angle, x, v);
    EXPECT_LE(MaxAbs(Step(angle, x * 37.0, v * 37.0) / 37.0 - y), 1e-13 * MaxAbs(y));
  }
}

// (6) A rotation of both inputs rotates the result.
TEST_P(Geodesic, IsEquivariantUnderRotations) {
  const Tensor q = std::get<0>(at::linalg_qr(Random({24, 24}, 15)));
  for (const AngleSpec& angle : AllKinds()) {
    const Tensor x = Random({6, 24}, 16), v = Random({6, 24}, 17);
    const Tensor rotated =
        Step(angle, at::matmul(x, q).contiguous(), at::matmul(v, q).contiguous());
    EXPECT_LE(MaxAbs(rotated - at::matmul(Step(angle, x, v), q)), 1e-13);
  }
}

// (7) Pre-Norm with orthogonal unit-RMS branches, normalised, is the rotation by arctan(1/√k).
TEST_P(Geodesic, PreNormIsTheRotationByItsOwnAngle) {
  Tensor stream = UnitRms(Random({4, 64}, 18));
  Tensor sphere = stream.clone();
  for (int k = 1; k <= 24; ++k) {
    const Tensor branch = UnitRms(OrthogonalPart(stream, Random({4, 64}, 200 + k)));
    stream = stream + branch;
    const AngleSpec angle{.fixed = true, .fixed_theta = std::atan(1.0 / std::sqrt(k))};
    sphere = Step(angle, sphere, branch);
    EXPECT_LE(MaxAbs(UnitRms(stream) - sphere), 1e-12) << k;
  }
}

// (8) ‖x' − (x + α_k u)‖·R/‖u‖² → ½α_k² as the branch vanishes.
TEST_P(Geodesic, SecondOrderTermIsHalfTheSquare) {
  const AngleSpec angle{.alpha = 0.6};
  const Tensor x = Random({4, 32}, 19);
  const Tensor v = OrthogonalPart(x, Random({4, 32}, 20)) * 1e-4;
  const Tensor rest = Norms(Step(angle, x, v) - (x + angle.alpha * v));
  const Tensor ratio = rest * Norms(x) / Norms(v).square();
  EXPECT_LE(MaxAbs(ratio - 0.5 * angle.alpha * angle.alpha), 1e-6);
}

// (9) First-order agreement with gain-free Post-RMSNorm; `projection` with α_k = 1 is Post-RMSNorm
// of the tangent part.
TEST_P(Geodesic, AgreesWithPostRmsNorm) {
  const NormSpec rms{.kind = NormKind::kRmsNorm, .eps = 0, .gain = false};
  const Tensor x = UnitRms(Random({4, 32}, 21));
  const Tensor small = Random({4, 32}, 22) * 1e-5;
  const Tensor post = ComposedNorm(rms, x + small, {}, {});
  EXPECT_LE(MaxAbs(Step({.alpha = 1}, x, small) - post), 1e-8);
  const Tensor tangent = OrthogonalPart(x, Random({4, 32}, 23));
  const AngleSpec projection{.alpha = 1, .retraction = Retraction::kProjection};
  EXPECT_LE(MaxAbs(Step(projection, x, tangent) - ComposedNorm(rms, x + tangent, {}, {})), 1e-14);
}

// One NaN row does not touch its neighbours, in either direction.
TEST_P(Geodesic, NanStaysInItsRow) {
  const Tensor x = Random({3, 16}, 24);
  Tensor v = Random({3, 16}, 25);
  v[1][4] = std::nan("");
  v.requires_grad_(true);
  const Tensor y = Step({.alpha = 1}, x, v);
  y.sum().backward();
  for (const int64_t row : {0, 2}) {
    EXPECT_TRUE(y[row].isfinite().all().item<bool>());
    EXPECT_TRUE(v.grad()[row].isfinite().all().item<bool>());
  }
  EXPECT_TRUE(y[1].isnan().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Paths, Geodesic, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Composed" : "Kernels"; });

}  // namespace
}  // namespace normlab::model
