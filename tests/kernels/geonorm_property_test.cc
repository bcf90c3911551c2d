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

constexpr TypePair kF32{NORMLAB_F32, NORMLAB_F32};
constexpr TypePair kBf16{NORMLAB_BF16, NORMLAB_BF16};

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

  std::unique_ptr<Backend> backend_;
};

TEST_P(GeoNormPropertyTest, TwoRunsAreBitIdentical) {
  for (const TypePair types : {kF32, kBf16}) {
    const GeoNormInputs in = MakeInputs(types, 130, 128, 3);
    const GeoNormOutputs one = Run(in), other = Run(in);
    EXPECT_EQ(one.y.bytes(), other.y.bytes());
    EXPECT_EQ(one.dx.bytes(), other.dx.bytes());
    EXPECT_EQ(one.dv.bytes(), other.dv.bytes());
    for (int k = 0; k < 3; ++k) EXPECT_EQ(one.dangle[k], other.dangle[k]);
  }
}

TEST_P(GeoNormPropertyTest, RowAloneEqualsTheRowInABatch) {
  for (const TypePair types : {kF32, kBf16}) {
    const GeoNormInputs in = MakeInputs(types, 39, 128, 4);
    const GeoNormOutputs batch = Run(in);
    for (const std::int64_t row : {0, 5, 12, 13, 14, 24, 38}) {
      const GeoNormOutputs single = Run(OneRow(in, row));
      EXPECT_TRUE(SameRow(single.y, 0, batch.y, row)) << row;
      EXPECT_TRUE(SameRow(single.dx, 0, batch.dx, row)) << row;
      EXPECT_TRUE(SameRow(single.dv, 0, batch.dv, row)) << row;
    }
  }
}

TEST_P(GeoNormPropertyTest, RowThatIsNotFiniteTouchesNoOther) {
  for (const double poison : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    GeoNormInputs in = MakeInputs(kF32, 39, 128, 5);
    const GeoNormOutputs clean = Run(in);
    in.x.Set(13, 77, poison);
    const GeoNormOutputs poisoned = Run(in);
    EXPECT_TRUE(std::isnan(poisoned.y.Get(13, 77)));
    for (std::int64_t row = 0; row < 39; ++row) {
      if (row == 13) continue;
      EXPECT_TRUE(SameRow(clean.y, row, poisoned.y, row)) << row;
      EXPECT_TRUE(SameRow(clean.dx, row, poisoned.dx, row)) << row;
      EXPECT_TRUE(SameRow(clean.dv, row, poisoned.dv, row)) << row;
    }
  }
}

TEST_P(GeoNormPropertyTest, NoRowsAreNoWork) {
  const GeoNormOutputs out = Run(GeoNormInputs(kF32, 0, 768));
  EXPECT_EQ(out.zero_rows, 0);
}

TEST_P(GeoNormPropertyTest, RowsMayLieApart) {
  const GeoNormInputs packed = MakeInputs(kF32, 26, 100, 6);
  const GeoNormInputs apart = MakeInputs(kF32, 26, 100, 6, 3);
  const GeoNormOutputs one = Run(packed), other = Run(apart, 5);
  for (std::int64_t row = 0; row < 26; ++row) {
    EXPECT_TRUE(SameRow(one.y, row, other.y, row)) << row;
    EXPECT_TRUE(SameRow(one.dx, row, other.dx, row)) << row;
    EXPECT_TRUE(SameRow(one.dv, row, other.dv, row)) << row;
  }
  EXPECT_TRUE(other.y.GapsUntouched() && other.dx.GapsUntouched() && other.dv.GapsUntouched());
}

// A rounding that leans one way would shrink or grow the stream with every update.
TEST_P(GeoNormPropertyTest, RadiusHasNoDriftOver96Updates) {
  constexpr std::int64_t kRows = 8, kCols = 768;
  for (const TypePair types : {kF32, kBf16}) {
    GeoNormInputs in = MakeInputs(types, kRows, kCols, 7);
    normlab_geonorm_options options = PlainOptions();
    options.alpha = 0.1;
    std::vector<double> before(kRows);
    GeoNormInputs fresh(types, kRows, kCols);
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t c = 0; c < kCols; ++c)
        in.x.Set(r, c, std::sin(1.7 * double(r * kCols + c)));
      for (const long double entry : in.x.Row(r)) before[r] += double(entry * entry);
    }
    for (int update = 0; update < 96; ++update) {
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t c = 0; c < kCols; ++c) {
          in.v.Set(r, c, std::cos(0.37 * double((r + 1) * c) + 2.3 * update));
        }
      }
      HostMatrix y(types.stream, kRows, kCols);
      ASSERT_EQ(backend_->GeoNormForward(
                    options, {in.x.View(), in.v.View(), y.View(), nullptr, nullptr, nullptr}),
                NORMLAB_OK);
      in.x = y;
    }
    double mean_drift = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      double after = 0;
      for (const long double entry : in.x.Row(r)) after += double(entry * entry);
      const double drift = std::sqrt(after / before[r]) - 1;
      EXPECT_LE(std::fabs(drift), types.stream == NORMLAB_F32 ? 5e-6 : 5e-3);
      mean_drift += drift / kRows;
    }
    // Truncation would lose about 96·2^-9 = 0.19 with bf16.
    EXPECT_LE(std::fabs(mean_drift), types.stream == NORMLAB_F32 ? 2e-6 : 3e-3);
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

INSTANTIATE_TEST_SUITE_P(Backends, GeoNormPropertyTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
