// What must hold of LayerNorm and RMSNorm whatever the numbers: independence of rows,
// repeatability, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/backend.h"
#include "tests/kernels/geonorm_cases.h"
#include "tests/kernels/row_checks.h"

namespace normlab::kernels {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr TypePair kF32{NORMLAB_F32, NORMLAB_F32};
constexpr TypePair kBf16{NORMLAB_BF16, NORMLAB_BF16};

normlab_norm_options Options(normlab_norm_kind kind) { return {kind, 1e-5, 0}; }

// One forward and one backward pass: x, and v as the upstream gradient, of GeoNormInputs.
struct Outputs {
  explicit Outputs(const GeoNormInputs& in, std::int64_t gap = 0)
      : y(in.x.dtype(), in.x.rows(), in.x.cols(), gap),
        dx(in.x.dtype(), in.x.rows(), in.x.cols(), gap),
        gain(NORMLAB_F32, 1, in.x.cols()),
        bias(NORMLAB_F32, 1, in.x.cols()),
        dgain(NORMLAB_F32, 1, in.x.cols()),
        dbias(NORMLAB_F32, 1, in.x.cols()),
        saved(static_cast<std::size_t>(2 * in.x.rows() + 1)) {
    for (std::int64_t c = 0; c < in.x.cols(); ++c) {
      gain.Set(0, c, 1 + 0.3 * std::sin(double(c)));
      bias.Set(0, c, 0.2 * std::cos(double(c)));
    }
  }
  normlab_norm_forward_args Forward(const GeoNormInputs& in) {
    return {in.x.View(), gain.View().data, bias.View().data, y.View(), saved.data()};
  }
  normlab_norm_backward_args Backward(const GeoNormInputs& in) {
    return {in.v.View(), in.x.View(),       gain.View().data,  saved.data(),
            dx.View(),   dgain.View().data, dbias.View().data, nullptr};
  }
  HostMatrix y, dx, gain, bias, dgain, dbias;
  std::vector<double> saved;
};

class NormPropertyTest : public testing::TestWithParam<std::tuple<std::string, normlab_norm_kind>> {
 protected:
  NormPropertyTest() : backend_(MakeBackend(std::get<0>(GetParam()))) {}

  normlab_norm_options options() const { return Options(std::get<1>(GetParam())); }

  Outputs Run(const GeoNormInputs& in, std::int64_t gap = 0) {
    Outputs out(in, gap);
    EXPECT_EQ(backend_->NormForward(options(), out.Forward(in)), NORMLAB_OK)
        << normlab_last_error();
    EXPECT_EQ(backend_->NormBackward(options(), out.Backward(in)), NORMLAB_OK)
        << normlab_last_error();
    return out;
  }

  std::unique_ptr<Backend> backend_;
};

void ExpectSameBits(const Outputs& one, const Outputs& other) {
  EXPECT_EQ(one.y.bytes(), other.y.bytes());
  EXPECT_EQ(one.dx.bytes(), other.dx.bytes());
  EXPECT_EQ(one.dgain.bytes(), other.dgain.bytes());
  EXPECT_EQ(one.dbias.bytes(), other.dbias.bytes());
}

TEST_P(NormPropertyTest, TwoRunsAreBitIdentical) {
  for (const TypePair types : {kF32, kBf16}) {
    const GeoNormInputs in = MakeInputs(types, 130, 128, 3);
    ExpectSameBits(Run(in), Run(in));
  }
}

TEST_P(NormPropertyTest, RowAloneEqualsTheRowInABatch) {
  for (const TypePair types : {kF32, kBf16}) {
    const GeoNormInputs in = MakeInputs(types, 39, 128, 4);
    const Outputs batch = Run(in);
    for (const std::int64_t row : {0, 5, 12, 38}) {
      GeoNormInputs alone(types, 1, 128);
      for (std::int64_t c = 0; c < 128; ++c) {
        alone.x.Set(0, c, in.x.Get(row, c));
        alone.v.Set(0, c, in.v.Get(row, c));
      }
      const Outputs single = Run(alone);
      EXPECT_TRUE(SameRow(single.y, 0, batch.y, row)) << row;
      EXPECT_TRUE(SameRow(single.dx, 0, batch.dx, row)) << row;
    }
  }
}

TEST_P(NormPropertyTest, RowThatIsNotFiniteTouchesNoOther) {
  for (const double poison : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    GeoNormInputs in = MakeInputs(kF32, 39, 128, 5);
    const Outputs clean = Run(in);
    in.x.Set(13, 77, poison);
    const Outputs poisoned = Run(in);
    EXPECT_TRUE(std::isnan(poisoned.y.Get(13, 77)));
    for (std::int64_t row = 0; row < 39; ++row) {
      if (row == 13) continue;
      EXPECT_TRUE(SameRow(clean.y, row, poisoned.y, row)) << row;
      EXPECT_TRUE(SameRow(clean.dx, row, poisoned.dx, row)) << row;
    }
    // A column sum over all rows cannot hide the row that spoils it.
    EXPECT_TRUE(std::isnan(poisoned.dgain.Get(0, 77)));
    EXPECT_EQ(clean.dbias.bytes(), poisoned.dbias.bytes());
  }
}

TEST_P(NormPropertyTest, SumsOverNoRowsAreZero) {
  const Outputs out = Run(GeoNormInputs(kF32, 0, 768));
  for (std::int64_t c = 0; c < 768; ++c) {
    EXPECT_EQ(out.dgain.Get(0, c), 0) << c;
    EXPECT_EQ(out.dbias.Get(0, c), 0) << c;
  }
}

TEST_P(NormPropertyTest, RowsMayLieApart) {
  const GeoNormInputs packed = MakeInputs(kF32, 26, 100, 6);
  const GeoNormInputs apart = MakeInputs(kF32, 26, 100, 6, 3);
  const Outputs one = Run(packed), other = Run(apart, 5);
  for (std::int64_t row = 0; row < 26; ++row) {
    EXPECT_TRUE(SameRow(one.y, row, other.y, row)) << row;
    EXPECT_TRUE(SameRow(one.dx, row, other.dx, row)) << row;
  }
  EXPECT_TRUE(other.y.GapsUntouched() && other.dx.GapsUntouched());
}

TEST_P(NormPropertyTest, RefusalsNameBothSides) {
  const GeoNormInputs in = MakeInputs(kF32, 7, 768, 8), narrow = MakeInputs(kF32, 7, 760, 8);
  Outputs out(in);
  const auto refuses = [&](const normlab_norm_forward_args& args) {
    return backend_->NormForward(options(), args) == NORMLAB_INVALID_ARGUMENT;
  };
  normlab_norm_forward_args args = out.Forward(in);
  args.x = narrow.x.View();
  EXPECT_TRUE(refuses(args));
  EXPECT_THAT(normlab_last_error(), AllOf(HasSubstr("[7, 768]"), HasSubstr("[7, 760]")));

  const HostMatrix wide(NORMLAB_F64, 7, 768);
  args.x = wide.View();
  EXPECT_TRUE(refuses(args));
  EXPECT_THAT(normlab_last_error(), AllOf(HasSubstr("F32"), HasSubstr("F64")));

  args = out.Forward(in);
  args.x.data = static_cast<char*>(args.x.data) + 1;
  EXPECT_TRUE(refuses(args));
  EXPECT_THAT(normlab_last_error(), HasSubstr("misaligned"));

  args = out.Forward(in);
  args.x.row_stride = 700;
  EXPECT_TRUE(refuses(args));
  EXPECT_THAT(normlab_last_error(), HasSubstr("overlap"));
}

TEST_P(NormPropertyTest, BackwardRefusesWhatItCannotUse) {
  const GeoNormInputs in = MakeInputs(kF32, 7, 768, 8), narrow = MakeInputs(kF32, 7, 760, 8);
  Outputs out(in);
  normlab_norm_backward_args args = out.Backward(in);
  args.g = narrow.v.View();
  EXPECT_EQ(backend_->NormBackward(options(), args), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), AllOf(HasSubstr("[7, 768]"), HasSubstr("[7, 760]")));
  args = out.Backward(in);
  args.saved = nullptr;
  EXPECT_EQ(backend_->NormBackward(options(), args), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), HasSubstr("forward pass saved"));
}

INSTANTIATE_TEST_SUITE_P(Backends, NormPropertyTest,
                         testing::Combine(testing::ValuesIn(BackendNames()),
                                          testing::Values(NORMLAB_LAYERNORM, NORMLAB_RMSNORM)),
                         [](const auto& info) {
                           const bool centred = std::get<1>(info.param) == NORMLAB_LAYERNORM;
                           return std::get<0>(info.param) + (centred ? "_LayerNorm" : "_RmsNorm");
                         });

}  // namespace
}  // namespace normlab::kernels
