// What the CUDA interface refuses beyond the CPU's: at a preset's width, memory that its accesses
// of 16 bytes could not reach. Checked before anything is launched, so no memory is touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "kernels/testing/simt_kernels.h"

namespace normlab::kernels {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kRows = 3, kCols = 768;

// Addresses that are multiples of 16 and far apart; nobody reads them.
void* Address(int which, std::int64_t offset = 0) {
  return reinterpret_cast<void*>((std::int64_t{which} << 24) + offset);
}
normlab_matrix Matrix(int which, normlab_dtype dtype = NORMLAB_F32) {
  return {Address(which), kRows, kCols, kCols, dtype};
}
void Shift(normlab_matrix& matrix, std::int64_t bytes) {
  matrix.data = static_cast<char*>(matrix.data) + bytes;
}

constexpr normlab_geonorm_options kAngle{NORMLAB_EXP, 1, 1, 0, 0, 0, 0};
constexpr normlab_norm_options kNorm{NORMLAB_RMSNORM, 1e-5, 0};

std::string Refusal(int code) {
  EXPECT_EQ(code, NORMLAB_INVALID_ARGUMENT);
  return normlab_last_error();
}

TEST(DeviceRefusalsTest, RowsMustStartAtMultiplesOf16Bytes) {
  const auto forward = [](auto change) {
    normlab_geonorm_forward_args args{Matrix(1), Matrix(2), Matrix(3), nullptr, nullptr, nullptr};
    change(args);
    return Refusal(normlab_simt_geonorm_forward(&kAngle, &args, nullptr, nullptr));
  };
  const auto at_16 = HasSubstr("is misaligned: its rows must start at multiples of 16 bytes");
  for (const std::int64_t bytes : {4, 8}) {
    EXPECT_THAT(forward([&](auto& args) { Shift(args.x, bytes); }), AllOf(StartsWith("x"), at_16));
    EXPECT_THAT(forward([&](auto& args) { Shift(args.y, bytes); }), AllOf(StartsWith("y"), at_16));
  }
  EXPECT_THAT(forward([](auto& args) { args.v.row_stride = 769; }),
              AllOf(StartsWith("v of shape [3, 768]"), at_16));
  EXPECT_THAT(forward([](auto& args) {
                args.v.dtype = NORMLAB_BF16;
                args.v.row_stride = 772;
              }),
              AllOf(StartsWith("v"), at_16));
  EXPECT_THAT(
      forward([](auto& args) { args.zero_rows = static_cast<std::int64_t*>(Address(4, 4)); }),
      StartsWith("zero_rows is misaligned"));
}

TEST(DeviceRefusalsTest, BackwardNeedsAWorkspaceForTheAngle) {
  normlab_geonorm_backward_args args{Matrix(1),
                                     Matrix(2),
                                     Matrix(3),
                                     Address(4),
                                     Matrix(5),
                                     Matrix(6),
                                     static_cast<double*>(Address(7))};
  const auto backward = [&](void* workspace) {
    return Refusal(normlab_simt_geonorm_backward(&kAngle, &args, nullptr, workspace, nullptr));
  };
  EXPECT_THAT(backward(nullptr), HasSubstr("dangle needs a workspace"));
  EXPECT_THAT(backward(Address(8, 4)), StartsWith("workspace is misaligned"));
  Shift(args.dv, 8);
  EXPECT_THAT(backward(Address(8)), StartsWith("dv of shape [3, 768] is misaligned"));
}

TEST(DeviceRefusalsTest, ParametersOfNormsMustStartAtMultiplesOf16Bytes) {
  const auto at_16 = HasSubstr("at this width it must start at a multiple of 16 bytes");
  const auto forward = [](const void* gain, const void* bias) {
    const normlab_norm_forward_args args{Matrix(1), gain, bias, Matrix(2), nullptr};
    return Refusal(normlab_simt_norm_forward(&kNorm, &args, nullptr));
  };
  EXPECT_THAT(forward(Address(3, 4), nullptr), AllOf(StartsWith("gain"), at_16));
  EXPECT_THAT(forward(nullptr, Address(3, 8)), AllOf(StartsWith("bias"), at_16));
  const auto backward = [](const void* gain, void* workspace) {
    const normlab_norm_backward_args args{Matrix(1), Matrix(2),  gain,    Address(4),
                                          Matrix(5), Address(6), nullptr, workspace};
    return Refusal(normlab_simt_norm_backward(&kNorm, &args, nullptr));
  };
  EXPECT_THAT(backward(Address(3, 8), Address(7)), AllOf(StartsWith("gain"), at_16));
  EXPECT_THAT(backward(nullptr, Address(7, 8)), AllOf(StartsWith("workspace"), at_16));
  EXPECT_THAT(backward(nullptr, nullptr), HasSubstr("dgain and dbias need a workspace"));
}

TEST(DeviceRefusalsTest, ParametersOfUpdatesMustStartAtMultiplesOf16Bytes) {
  const auto at_16 = HasSubstr("at this width it must start at a multiple of 16 bytes");
  const auto forward = [](auto change) {
    normlab_residual_form form{};
    form.a = form.b = 1;
    form.next = {1, kNorm, nullptr, nullptr, nullptr, nullptr, nullptr};
    change(form);
    const normlab_residual_forward_args args{Matrix(1), Matrix(2), Matrix(3),
                                             Matrix(4), nullptr,   nullptr};
    return Refusal(normlab_simt_residual_forward(&form, &args, nullptr, nullptr));
  };
  EXPECT_THAT(forward([](auto& form) { form.b_columns = Address(5, 8); }),
              AllOf(StartsWith("b_columns"), at_16));
  const std::pair<std::string, normlab_norm_stage normlab_residual_form::*> stages[] = {
      {"branch", &normlab_residual_form::branch},
      {"post", &normlab_residual_form::post},
      {"next", &normlab_residual_form::next}};
  for (const auto& [name, stage] : stages) {
    EXPECT_THAT(forward([&, stage = stage](auto& form) {
                  form.*stage = {1, kNorm, Address(5, 4), nullptr, nullptr, nullptr, nullptr};
                }),
                AllOf(StartsWith(name + " gain is misaligned"), at_16));
    EXPECT_THAT(forward([&, stage = stage](auto& form) {
                  form.*stage = {1, kNorm, nullptr, Address(5, 8), nullptr, nullptr, nullptr};
                }),
                AllOf(StartsWith(name + " bias is misaligned"), at_16));
  }
  normlab_residual_form form{};
  form.a = form.b = 1;
  normlab_residual_backward_args args{};
  args.dstream = Matrix(1);
  args.g = Matrix(2);
  args.dx = Matrix(3);
  args.workspace = Address(4, 8);
  EXPECT_THAT(Refusal(normlab_simt_residual_backward(&form, &args, nullptr, nullptr)),
              StartsWith("workspace is misaligned"));
  args.workspace = Address(4);
  Shift(args.dx, 8);
  EXPECT_THAT(Refusal(normlab_simt_residual_backward(&form, &args, nullptr, nullptr)),
              StartsWith("dx of shape [3, 768] is misaligned"));
}

}  // namespace
}  // namespace normlab::kernels
