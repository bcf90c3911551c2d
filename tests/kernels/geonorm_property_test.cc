// What must hold of GeoNorm whatever the numbers: independence of rows, repeatability, refusals,
// and the radius of a stream over many updates.
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

class GeoNormPropertyTest : public testing::TestWithParam<std::string> {
 protected:
  GeoNormPropertyTest() : backend_(MakeBackend(GetParam())) {}

  GeoNormOutputs Run(const GeoNormInputs& in, std::int64_t gap = 0) {
    GeoNormOutputs out(in, gap);
    EXPECT_EQ(backend_->GeoNormForward(PlainOptions(), out.Forward(in)), NORMLAB_OK)
        << normlab_last_error();
    EXPECT_EQ(backend_->GeoNormBackward(PlainOptions(), out.Backward(in)), NORMLAB_OK)
        << normlab_last_error();
    return out;
  }

  std::vector<double> DriftsOver96Updates(TypePair types, std::int64_t rows, std::int64_t cols);

  std::unique_ptr<Backend> backend_;
};

TEST_P(GeoNormPropertyTest, TwoRunsAreBitIdentical) {
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768}) {
      const GeoNormInputs in = MakeInputs(types, 35, cols, 3);
      const GeoNormOutputs one = Run(in), other = Run(in);
      EXPECT_EQ(one.y.bytes(), other.y.bytes());
      EXPECT_EQ(one.dx.bytes(), other.dx.bytes());
      EXPECT_EQ(one.dv.bytes(), other.dv.bytes());
      EXPECT_EQ(one.saved, other.saved);
      EXPECT_EQ(one.probes, other.probes);
      for (int k = 0; k < 3; ++k) EXPECT_EQ(one.dangle[k], other.dangle[k]);
    }
  }
}

void ExpectSameRow(const GeoNormOutputs& one, std::int64_t row, const GeoNormOutputs& other,
                   std::int64_t at) {
  EXPECT_TRUE(SameRow(one.y, row, other.y, at)) << row;
  EXPECT_TRUE(SameRow(one.dx, row, other.dx, at)) << row;
  EXPECT_TRUE(SameRow(one.dv, row, other.dv, at)) << row;
}

TEST_P(GeoNormPropertyTest, RowAloneEqualsTheRowInABatch) {
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768, 1600}) {
      SCOPED_TRACE(testing::Message()
                   << "width " << cols << " " << Name(types.stream) << "+" << Name(types.branch));
      const GeoNormInputs in = MakeInputs(types, 19, cols, 4);
      const GeoNormOutputs batch = Run(in);
      for (const std::int64_t row : {0, 5, 7, 8, 13, 15, 18}) {
        ExpectSameRow(Run(OneRow(in, row)), 0, batch, row);
      }
    }
  }
}

// Eleven rows: eight that short bf16 rows are taken together in, and a rest.
TEST_P(GeoNormPropertyTest, RowThatIsNotFiniteTouchesNoOther) {
  constexpr std::int64_t kRows = 11, kPoisoned = 5;
  const double poisons[] = {std::nan(""), std::numeric_limits<double>::infinity()};
  std::size_t turn = 0;
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768, 1600}) {
      const GeoNormInputs in = MakeInputs(types, kRows, cols, 5);
      const GeoNormOutputs clean = Run(in);
      for (const auto operand : {&GeoNormInputs::x, &GeoNormInputs::v, &GeoNormInputs::g}) {
        const double poison = poisons[turn++ % 2];
        SCOPED_TRACE(testing::Message() << "width " << cols << " " << Name(types.stream) << "+"
                                        << Name(types.branch) << " " << poison);
        GeoNormInputs bad = in;
        (bad.*operand).Set(kPoisoned, 77, poison);
        const GeoNormOutputs poisoned = Run(bad);
        EXPECT_FALSE(std::isfinite(poisoned.dx.Get(kPoisoned, 77)));
        EXPECT_EQ(std::isfinite(poisoned.y.Get(kPoisoned, 77)), operand == &GeoNormInputs::g);
        for (std::int64_t row = 0; row < kRows; ++row) {
          if (row != kPoisoned) ExpectSameRow(clean, row, poisoned, row);
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(GeoNormPropertyTest, NoRowsAreNoWork) {
  const GeoNormOutputs out = Run(GeoNormInputs(kF32, 0, 768));
  EXPECT_EQ(out.zero_rows, 0);
}

TEST_P(GeoNormPropertyTest, RowsMayLieApart) {
  for (const TypePair types : {kF32, kBf16, kMixed}) {
    for (const std::int64_t cols : {100, 128, 768}) {
      const std::int64_t gap = GapFor(cols);
      const GeoNormInputs packed = MakeInputs(types, 19, cols, 6);
      const GeoNormInputs apart = MakeInputs(types, 19, cols, 6, gap);
      const GeoNormOutputs one = Run(packed), other = Run(apart, 2 * gap);
      for (std::int64_t row = 0; row < 19; ++row) ExpectSameRow(one, row, other, row);
      EXPECT_TRUE(other.y.GapsUntouched() && other.dx.GapsUntouched() && other.dv.GapsUntouched());
    }
  }
}

// Rounding to nearest leaves errors of 0.42 units each on average, as likely up as down, of which
// the radius sees the mean weighted by y^2; those of a row's own factors are alike in all columns.
// After 96 updates a row has gone four deviations of that walk at most, and the mean of the rows as
// many of its own. Truncation would lose 96·2^-9 = 0.19 in bf16.
double DeviationOfRadius(normlab_dtype stream, std::int64_t cols) {
  const double of_columns = 0.42 * UnitRoundoff(stream) * std::sqrt(3 / static_cast<double>(cols));
  return std::sqrt(96.0) * (of_columns + ArithmeticRoundoff(stream));
}

double SquareOf(const HostMatrix& matrix, std::int64_t row) {
  long double sum = 0;
  for (const long double entry : matrix.Row(row)) sum += entry * entry;
  return static_cast<double>(sum);
}

// How far the radii of rows of sines are from what they were, after 96 updates by cosines.
std::vector<double> GeoNormPropertyTest::DriftsOver96Updates(TypePair types, std::int64_t rows,
                                                             std::int64_t cols) {
  GeoNormInputs in(types, rows, cols);
  normlab_geonorm_options options = PlainOptions();
  options.alpha = 0.1;
  std::vector<double> before, drifts;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) in.x.Set(r, c, std::sin(1.7 * double(r * cols + c)));
    before.push_back(SquareOf(in.x, r));
  }
  for (int update = 0; update < 96; ++update) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        in.v.Set(r, c, std::cos(0.37 * double((r + 1) * c) + 2.3 * update));
      }
    }
    HostMatrix y(types.stream, rows, cols);
    EXPECT_EQ(backend_->GeoNormForward(
                  options, {in.x.View(), in.v.View(), y.View(), nullptr, nullptr, nullptr}),
              NORMLAB_OK);
    in.x = y;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    drifts.push_back(std::sqrt(SquareOf(in.x, r) / before[static_cast<std::size_t>(r)]) - 1);
  }
  return drifts;
}

// A rounding that leans one way would shrink or grow the stream with every update.
TEST_P(GeoNormPropertyTest, RadiusHasNoDriftOver96Updates) {
  for (const TypePair types : {kF32, kBf16, kMixed}) {
    for (const std::int64_t cols : {768, 1600}) {
      SCOPED_TRACE(testing::Message()
                   << "width " << cols << " " << Name(types.stream) << "+" << Name(types.branch));
      const std::vector<double> drifts = DriftsOver96Updates(types, cols == 768 ? 8 : 4, cols);
      const double deviation = DeviationOfRadius(types.stream, cols);
      double mean = 0;
      for (const double drift : drifts) {
        EXPECT_LE(std::fabs(drift), 4 * deviation);
        mean += drift / static_cast<double>(drifts.size());
      }
      EXPECT_LE(std::fabs(mean), 4 * deviation / std::sqrt(double(drifts.size())));
    }
  }
}

TEST_P(GeoNormPropertyTest, RefusalsNameBothSides) {
  const GeoNormInputs in = MakeInputs(kF32, 7, 768, 8), narrow = MakeInputs(kF32, 7, 760, 8);
  HostMatrix y(NORMLAB_F32, 7, 768);
  const auto forward = [&](normlab_matrix x, normlab_matrix v) {
    return backend_->GeoNormForward(PlainOptions(), {x, v, y.View(), nullptr, nullptr, nullptr});
  };
  EXPECT_EQ(forward(in.x.View(), narrow.v.View()), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), AllOf(HasSubstr("[7, 768]"), HasSubstr("[7, 760]")));

  HostMatrix wide(NORMLAB_F64, 7, 768);
  EXPECT_EQ(forward(in.x.View(), wide.View()), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), AllOf(HasSubstr("F32"), HasSubstr("F64")));

  normlab_matrix misaligned = in.x.View();
  misaligned.data = static_cast<char*>(misaligned.data) + 1;
  EXPECT_EQ(forward(misaligned, in.v.View()), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), HasSubstr("misaligned"));

  normlab_matrix overlapping = in.x.View();
  overlapping.row_stride = 700;
  EXPECT_EQ(forward(overlapping, in.v.View()), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), HasSubstr("overlap"));
}

TEST_P(GeoNormPropertyTest, BackwardRefusesWhatItCannotUse) {
  const GeoNormInputs in = MakeInputs(kF32, 7, 768, 8), narrow = MakeInputs(kF32, 7, 760, 8);
  const GeoNormInputs wide = MakeInputs(kF64, 7, 768, 8);
  GeoNormOutputs out(in);
  const auto sentence = [&](auto change) -> std::string {
    normlab_geonorm_backward_args args = out.Backward(in);
    change(args);
    EXPECT_EQ(backend_->GeoNormBackward(PlainOptions(), args), NORMLAB_INVALID_ARGUMENT);
    return normlab_last_error();
  };
  EXPECT_THAT(sentence([&](auto& args) { args.g = narrow.g.View(); }),
              AllOf(HasSubstr("x has the shape [7, 768]"), HasSubstr("g has the shape [7, 760]")));
  EXPECT_THAT(sentence([&](auto& args) { args.dv = narrow.v.View(); }),
              AllOf(HasSubstr("x has the shape [7, 768]"), HasSubstr("dv has the shape [7, 760]")));
  EXPECT_THAT(sentence([&](auto& args) { args.g = wide.g.View(); }),
              AllOf(HasSubstr("x [7, 768] is F32"), HasSubstr("g [7, 768] is F64")));
  EXPECT_THAT(sentence([&](auto& args) { args.v = wide.v.View(); }),
              AllOf(HasSubstr("x [7, 768] is F32"), HasSubstr("v [7, 768] is F64")));
  EXPECT_THAT(sentence([&](auto& args) { args.dv.dtype = NORMLAB_BF16; }),
              AllOf(HasSubstr("v [7, 768] is F32"), HasSubstr("dv [7, 768] is BF16")));
  EXPECT_THAT(sentence([&](auto& args) { args.saved = nullptr; }),
              HasSubstr("needs what the forward pass saved"));
  EXPECT_THAT(sentence([&](auto& args) { args.saved = static_cast<const char*>(args.saved) + 2; }),
              HasSubstr("saved is misaligned: it must start at a multiple of 4 bytes"));
  EXPECT_THAT(sentence([&](auto& args) { args.dx.rows = -1; }),
              HasSubstr("dx has the shape [-1, 768]; it cannot have fewer than 0 rows"));
  EXPECT_THAT(sentence([&](auto& args) { args.dx.cols = 0; }),
              HasSubstr("dx has the shape [7, 0]; it needs at least one column"));
}

TEST_P(GeoNormPropertyTest, InputsMayBeOverwrittenInPlace) {
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128}) {
      SCOPED_TRACE(testing::Message()
                   << "width " << cols << " " << Name(types.stream) << "+" << Name(types.branch));
      const GeoNormInputs in = MakeInputs(types, 19, cols, 9);
      const GeoNormOutputs apart = Run(in);
      GeoNormInputs forward = in, same = in, crossed = in;
      GeoNormOutputs out(in);
      normlab_geonorm_forward_args args = out.Forward(forward);
      args.y = args.x;
      ASSERT_EQ(backend_->GeoNormForward(PlainOptions(), args), NORMLAB_OK) << normlab_last_error();
      EXPECT_EQ(forward.x.bytes(), apart.y.bytes());
      EXPECT_EQ(out.saved, apart.saved);
      EXPECT_EQ(out.probes, apart.probes);

      normlab_geonorm_backward_args backward = out.Backward(same);
      backward.dx = backward.g;
      backward.dv = backward.v;
      ASSERT_EQ(backend_->GeoNormBackward(PlainOptions(), backward), NORMLAB_OK)
          << normlab_last_error();
      EXPECT_EQ(same.g.bytes(), apart.dx.bytes());
      EXPECT_EQ(same.v.bytes(), apart.dv.bytes());
      if (types.stream != types.branch) continue;
      backward = out.Backward(crossed);
      backward.dx = backward.x;
      backward.dv = backward.g;
      ASSERT_EQ(backend_->GeoNormBackward(PlainOptions(), backward), NORMLAB_OK)
          << normlab_last_error();
      EXPECT_EQ(crossed.x.bytes(), apart.dx.bytes());
      EXPECT_EQ(crossed.g.bytes(), apart.dv.bytes());
    }
  }
}

// Rows of both lie between each other's, and share no element.
TEST_P(GeoNormPropertyTest, ColumnsOfOneMatrixLieApart) {
  const GeoNormInputs in = MakeInputs(kF32, 7, 128, 8);
  const GeoNormOutputs apart = Run(in);
  HostMatrix both(NORMLAB_F32, 7, 256);
  for (std::int64_t r = 0; r < 7; ++r) {
    for (std::int64_t c = 0; c < 128; ++c) both.Set(r, c, in.x.Get(r, c));
  }
  normlab_matrix x = both.View(), y = x;
  x.cols = y.cols = 128;
  y.data = static_cast<float*>(y.data) + 128;
  ASSERT_EQ(
      backend_->GeoNormForward(PlainOptions(), {x, in.v.View(), y, nullptr, nullptr, nullptr}),
      NORMLAB_OK)
      << normlab_last_error();
  for (std::int64_t r = 0; r < 7; ++r) {
    for (std::int64_t c = 0; c < 128; ++c) {
      ASSERT_EQ(both.Get(r, c), in.x.Get(r, c));
      ASSERT_EQ(both.Get(r, 128 + c), apart.y.Get(r, c)) << r << " " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, GeoNormPropertyTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
