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
using testing::StartsWith;

normlab_norm_options Options(normlab_norm_kind kind) { return {kind, 1e-5, 0}; }

normlab_dtype RealOf(normlab_dtype stream) {
  return stream == NORMLAB_F64 ? NORMLAB_F64 : NORMLAB_F32;
}

// One forward and one backward pass: x, and v as the upstream gradient, of GeoNormInputs.
struct Outputs {
  explicit Outputs(const GeoNormInputs& in, std::int64_t gap = 0)
      : y(in.v.dtype(), in.x.rows(), in.x.cols(), gap),
        dx(in.x.dtype(), in.x.rows(), in.x.cols(), gap),
        gain(RealOf(in.x.dtype()), 1, in.x.cols()),
        bias(gain),
        dgain(gain),
        dbias(gain),
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
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768}) {
      const GeoNormInputs in = MakeInputs(types, 35, cols, 3);
      ExpectSameBits(Run(in), Run(in));
    }
  }
}

TEST_P(NormPropertyTest, RowAloneEqualsTheRowInABatch) {
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768, 1600}) {
      const GeoNormInputs in = MakeInputs(types, 19, cols, 4);
      const Outputs batch = Run(in);
      for (const std::int64_t row : {0, 5, 12, 18}) {
        SCOPED_TRACE(testing::Message() << "row " << row << " width " << cols << " "
                                        << Name(types.stream) << "+" << Name(types.branch));
        const Outputs single = Run(OneRow(in, row));
        EXPECT_TRUE(SameRow(single.y, 0, batch.y, row));
        EXPECT_TRUE(SameRow(single.dx, 0, batch.dx, row));
      }
    }
  }
}

// A column sum over all rows cannot hide the row that spoils it.
TEST_P(NormPropertyTest, RowThatIsNotFiniteTouchesNoOther) {
  constexpr std::int64_t kRows = 9, kPoisoned = 4;
  const double poisons[] = {std::nan(""), std::numeric_limits<double>::infinity()};
  std::size_t turn = 0;
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768, 1600}) {
      const GeoNormInputs in = MakeInputs(types, kRows, cols, 5);
      const Outputs clean = Run(in);
      for (const bool upstream : {false, true}) {
        SCOPED_TRACE(testing::Message() << "width " << cols << " " << Name(types.stream) << "+"
                                        << Name(types.branch) << (upstream ? " g" : " x"));
        GeoNormInputs bad = in;
        (upstream ? bad.v : bad.x).Set(kPoisoned, 77, poisons[turn++ / 2 % 2]);
        const Outputs poisoned = Run(bad);
        EXPECT_EQ(std::isnan(poisoned.y.Get(kPoisoned, 77)), !upstream);
        EXPECT_FALSE(std::isfinite(poisoned.dx.Get(kPoisoned, 77)));
        EXPECT_FALSE(std::isfinite(poisoned.dgain.Get(0, 77)));
        EXPECT_EQ(std::isfinite(poisoned.dbias.Get(0, 77)), !upstream);
        for (std::int64_t row = 0; row < kRows; ++row) {
          if (row == kPoisoned) continue;
          EXPECT_TRUE(SameRow(clean.y, row, poisoned.y, row)) << row;
          EXPECT_TRUE(SameRow(clean.dx, row, poisoned.dx, row)) << row;
        }
      }
      if (HasFailure()) return;
    }
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
  for (const TypePair types : {kF32, kBf16, kMixed}) {
    for (const std::int64_t cols : {100, 128, 768}) {
      const std::int64_t gap = GapFor(cols);
      const GeoNormInputs packed = MakeInputs(types, 9, cols, 6);
      const GeoNormInputs apart = MakeInputs(types, 9, cols, 6, gap);
      const Outputs one = Run(packed), other = Run(apart, 2 * gap);
      for (std::int64_t row = 0; row < 9; ++row) {
        EXPECT_TRUE(SameRow(one.y, row, other.y, row)) << row;
        EXPECT_TRUE(SameRow(one.dx, row, other.dx, row)) << row;
      }
      EXPECT_TRUE(other.y.GapsUntouched() && other.dx.GapsUntouched());
    }
  }
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
  args = out.Backward(in);
  args.dbias = static_cast<char*>(args.dbias) + 2;
  EXPECT_EQ(backend_->NormBackward(options(), args), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), StartsWith("dbias is misaligned"));
}

TEST_P(NormPropertyTest, InputsMayBeOverwrittenInPlace) {
  for (const TypePair types : {kF32, kBf16}) {
    for (const std::int64_t cols : {100, 128}) {
      const GeoNormInputs in = MakeInputs(types, 19, cols, 9);
      const Outputs apart = Run(in);
      GeoNormInputs forward = in, upstream = in, input = in;
      Outputs out(in);
      normlab_norm_forward_args args = out.Forward(forward);
      args.y = args.x;
      ASSERT_EQ(backend_->NormForward(options(), args), NORMLAB_OK) << normlab_last_error();
      EXPECT_EQ(forward.x.bytes(), apart.y.bytes());
      for (GeoNormInputs* given : {&upstream, &input}) {
        normlab_norm_backward_args backward = out.Backward(*given);
        backward.dx = given == &upstream ? backward.g : backward.x;
        ASSERT_EQ(backend_->NormBackward(options(), backward), NORMLAB_OK) << normlab_last_error();
        EXPECT_EQ((given == &upstream ? given->v : given->x).bytes(), apart.dx.bytes());
        EXPECT_EQ(out.dgain.bytes(), apart.dgain.bytes());
        EXPECT_EQ(out.dbias.bytes(), apart.dbias.bytes());
      }
    }
  }
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
