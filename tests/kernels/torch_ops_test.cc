// The operations on LibTorch tensors: learned numbers and what is refused. One program for the CPU,
// and in builds with CUDA the same as a second one for the GPU (NORMLAB_TEST_DEVICE).
#include <ATen/ATen.h>
#include <c10/core/Device.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>

#include "kernels/torch/norm_ops.h"
#include "kernels/torch/residual_ops.h"

namespace normlab::kernels {
namespace {

using testing::AllOf;
using testing::HasSubstr;

at::TensorOptions On(at::ScalarType type) {
  return at::TensorOptions().dtype(type).device(c10::Device(NORMLAB_TEST_DEVICE));
}

// Numbers that look random: the same on every device.
at::Tensor Waves(at::IntArrayRef sizes, double frequency, at::ScalarType type = at::kDouble) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const at::Tensor steps = at::arange(count, at::TensorOptions().dtype(at::kDouble));
  return at::sin(steps.square() * frequency + steps).reshape(sizes).to(On(type));
}

at::Tensor Learned(double value, at::ScalarType type = at::kDouble) {
  return at::full({1}, value, On(type)).set_requires_grad(true);
}

// Gradients of the sum of result·weights in each of the inputs.
std::vector<at::Tensor> Gradients(const at::Tensor& result, const std::vector<at::Tensor>& inputs) {
  const at::Tensor weights = Waves(result.sizes(), 0.37, result.scalar_type());
  return torch::autograd::grad({(result * weights).sum()}, inputs);
}

void ExpectClose(const at::Tensor& got, const at::Tensor& want, double tolerance,
                 const char* what) {
  ASSERT_EQ(got.sizes(), want.sizes()) << what;
  const double scale = want.abs().max().item<double>();
  EXPECT_LE((got.to(at::kDouble) - want.to(at::kDouble)).abs().max().item<double>(),
            tolerance * scale)
      << what;
}

// The sentence of the c10::Error that a call throws, or an empty one.
std::string Refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

// A learned scale and bias act as the numbers that they hold, and the numbers given beside them are
// not looked at; their gradients are those of finite differences.
TEST(TorchOpsTest, LearnedScaleAndBiasOfTheAngle) {
  const double scale = 1.25, bias = -0.375, step = 1e-5;
  for (const int64_t width : {24, 384}) {
    const at::Tensor x = Waves({5, width}, 0.11), v = Waves({5, width}, 0.23);
    const auto angle = [](double by_scale, double by_bias) {
      GeoNormOptions options;
      options.alpha = 0.5;
      options.angle_clamp = 2.0;
      options.scale = by_scale;
      options.bias = by_bias;
      return options;
    };
    const auto loss = [&](double by_scale, double by_bias) {
      const at::Tensor y = GeoNorm(x, v, angle(by_scale, by_bias));
      return (y * Waves(y.sizes(), 0.37)).sum().item<double>();
    };
    GeoNormOptions options = angle(std::nan(""), std::nan(""));
    options.scale_tensor = Learned(scale);
    options.bias_tensor = Learned(bias);
    const at::Tensor y = GeoNorm(x, v, options);
    EXPECT_TRUE(at::equal(y, GeoNorm(x, v, angle(scale, bias))));
    const auto gradients = Gradients(y, {options.scale_tensor, options.bias_tensor});
    const double by_scale = (loss(scale + step, bias) - loss(scale - step, bias)) / (2 * step);
    const double by_bias = (loss(scale, bias + step) - loss(scale, bias - step)) / (2 * step);
    EXPECT_GT(std::fabs(by_scale), 1e-3);
    EXPECT_GT(std::fabs(by_bias), 1e-3);
    EXPECT_NEAR(gradients[0].item<double>(), by_scale, 1e-7 * std::fabs(by_scale) + 1e-8);
    EXPECT_NEAR(gradients[1].item<double>(), by_bias, 1e-7 * std::fabs(by_bias) + 1e-8);
  }
}

// x + 0.5·b·g with its LayerNorm, b a learned number or a learned vector, against tensor operations
// in fp64.
TEST(TorchOpsTest, LearnedFactorOfTheBranch) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    for (const int64_t width : {24, 768}) {
      for (const int64_t count : {int64_t{1}, width}) {
        SCOPED_TRACE(testing::Message() << type << " width " << width << " b of " << count);
        std::vector<at::Tensor> inputs = {Waves({5, width}, 0.11, type),
                                          Waves({5, width}, 0.23, type),
                                          Waves({count}, 0.31, type) + 1.5};
        std::vector<at::Tensor> wide;
        for (at::Tensor& input : inputs) {
          wide.push_back(input.to(at::kDouble).detach().set_requires_grad(true));
          input.set_requires_grad(true);
        }
        ResidualSpec spec;
        spec.b = 0.5;
        spec.b_tensor = inputs[2];
        spec.next_norm = NormSpec{};
        const ResidualResult got = Residual(inputs[0], inputs[1], spec);
        const at::Tensor stream = wide[0] + 0.5 * wide[2] * wide[1];
        const at::Tensor next = at::layer_norm(stream, {width}, {}, {}, 1e-5);
        const double tolerance = type == at::kDouble ? 1e-12 : 1e-5;
        ExpectClose(got.stream, stream, tolerance, "stream");
        ExpectClose(got.next, next, tolerance, "next");
        const auto gradients = Gradients(got.stream + got.next, inputs);
        const auto expected = Gradients(stream + next, wide);
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          ExpectClose(gradients[i], expected[i], tolerance * 10, "gradient");
        }
      }
    }
  }
}

TEST(TorchOpsTest, ZeroRowsAreAddedToTheCounter) {
  at::Tensor x = Waves({5, 24}, 0.11);
  x.select(0, 1).zero_();
  x.select(0, 4).zero_();
  GeoNormOptions options;
  options.zero_rows = at::full({1}, 40, On(at::kLong));
  GeoNorm(x, Waves({5, 24}, 0.23), options);
  EXPECT_EQ(options.zero_rows.item<int64_t>(), 42);
}

// A batch without rows has gradients: zeros for what is shared between rows.
TEST(TorchOpsTest, NoRowsAreNoFault) {
  for (const int64_t width : {24, 768}) {
    const at::Tensor x = at::zeros({0, width}, On(at::kFloat)).set_requires_grad(true);
    const at::Tensor gain = at::ones({width}, On(at::kFloat)).set_requires_grad(true);
    const at::Tensor b = Learned(2, at::kFloat);
    ResidualSpec spec;
    spec.b_tensor = b;
    spec.next_norm = NormSpec{NORMLAB_LAYERNORM, gain, {}, 1e-5, false};
    const ResidualResult updated = Residual(LayerNorm(x, gain, {}, 1e-5), x, spec);
    GeoNormOptions angle;
    angle.scale_tensor = b;
    const auto gradients = Gradients(GeoNorm(updated.stream, updated.next, angle), {x, gain, b});
    EXPECT_EQ(gradients[0].sizes(), x.sizes());
    EXPECT_EQ(gradients[1].abs().max().item<float>(), 0);
    EXPECT_EQ(gradients[2].item<float>(), 0);
  }
}

TEST(TorchOpsTest, RefusalsNameWhatWasFound) {
  const at::Tensor x = Waves({4, 768}, 0.11, at::kFloat), v = Waves({4, 768}, 0.23, at::kFloat);
  GeoNormOptions options;
  const auto geonorm = [&](const at::Tensor& stream, const at::Tensor& branch) {
    return Refusal([&] { GeoNorm(stream, branch, options); });
  };
  EXPECT_EQ(geonorm(x, v), "");
  EXPECT_THAT(geonorm(x.t(), v.t()), HasSubstr("x of shape [768, 4] is not contiguous"));
  EXPECT_THAT(geonorm(x, v.narrow(0, 0, 3)), AllOf(HasSubstr("[4, 768]"), HasSubstr("[3, 768]")));
  EXPECT_THAT(geonorm(x, v.to(at::kDouble)), AllOf(HasSubstr("F32"), HasSubstr("F64")));
  options.zero_rows = at::zeros({1}, On(at::kInt));
  EXPECT_THAT(geonorm(x, v), HasSubstr("zero_rows must be one int64, not Int of shape [1]"));
  options = {};
  options.probes = at::zeros({4, 2}, On(at::kFloat));
  EXPECT_THAT(geonorm(x, v), HasSubstr("probes must be Float of shape [4, 3] and contiguous, not "
                                       "Float of shape [4, 2]"));
  options.probes = at::zeros({4, 3}, On(at::kDouble));
  EXPECT_THAT(geonorm(x, v), HasSubstr("not Double of shape [4, 3]"));
  ResidualSpec spec;
  spec.probes = at::zeros({3, 3}, On(at::kFloat));
  EXPECT_THAT(Refusal([&] { Residual(x, v, spec); }), HasSubstr("probes must be"));
  EXPECT_THAT(Refusal([&] { LayerNorm(x, at::ones({760}, On(at::kFloat)), {}, 1e-5); }),
              AllOf(HasSubstr("gain has the shape [760]"), HasSubstr("[4, 768]")));
}

}  // namespace
}  // namespace normlab::kernels
