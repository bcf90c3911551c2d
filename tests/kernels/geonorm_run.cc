#include "tests/kernels/geonorm_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/row_checks.h"

namespace normlab::kernels {

using reference::Vector;

void RunGeoNorm(Backend& backend, const normlab_geonorm_options& options, const GeoNormInputs& in,
                GeoNormOutputs& out, const LearnedNumbers& learned) {
  ASSERT_EQ(backend.GeoNormForward(options, out.Forward(in), learned), NORMLAB_OK)
      << normlab_last_error();
  ASSERT_EQ(backend.GeoNormBackward(options, out.Backward(in), learned), NORMLAB_OK)
      << normlab_last_error();
}

void ExpectAngleGradients(const GeoNormOutputs& out, const std::array<long double, 3>& want,
                          const std::array<double, 3>& bounds) {
  static const char* const kNames[3] = {"dalpha", "dscale", "dbias"};
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(out.dangle[k], static_cast<double>(want[k]), bounds[k]) << kNames[k];
  }
}

namespace {

// What a bound for each column cannot say.
void ExpectLengths(const Vector& x, const Vector& y, const Vector& dx, const Vector& dv,
                   const RowShare& share) {
  Vector off(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) off[i] = dx[i] - share.gradients.dx[i];
  const GeoNormBounds& bounds = share.bounds;
  EXPECT_LE(std::fabs(Length(y) - Length(x)), bounds.radius) << "|y| is " << Length(y);
  EXPECT_LE(std::fabs(Dot(dv, x)), bounds.across) << "dv is not tangent";
  EXPECT_LE(Length(off), bounds.dx_length) << "of dx, which is " << Length(share.gradients.dx);
}

}  // namespace

RowShare ExpectRowMatches(const normlab_geonorm_options& options, TypePair types,
                          const GeoNormInputs& in, const GeoNormOutputs& out, std::int64_t r) {
  SCOPED_TRACE(Name(static_cast<Regime>(r % static_cast<int>(Regime::kCount))));
  const auto x = in.x.Row(r), v = in.v.Row(r), g = in.g.Row(r);
  RowShare share{reference::GeoNormBackward(options, x, v, g), BoundsOf(options, types, x, v, g)};
  ExpectRow(out.y, r, reference::GeoNormForward(options, x, v).out, share.bounds.y, "y");
  ExpectRow(out.dx, r, share.gradients.dx, share.bounds.dx, "dx");
  ExpectRow(out.dv, r, share.gradients.dv, share.bounds.dv, "dv");
  ExpectLengths(x, out.y.Row(r), out.dx.Row(r), out.dv.Row(r), share);
  return share;
}

void ExpectMatches(const normlab_geonorm_options& options, TypePair types, const GeoNormInputs& in,
                   const GeoNormOutputs& out, std::int64_t period) {
  for (const HostMatrix* result : {&out.y, &out.dx, &out.dv}) {
    ASSERT_TRUE(result->Repeats(std::min(period, in.x.rows())));
  }
  std::array<long double, 3> dangle = {};
  std::array<double, 3> slack = {};
  for (std::int64_t r = 0; r < std::min(period, in.x.rows()); ++r) {
    const auto [gradients, bounds] = ExpectRowMatches(options, types, in, out, r);
    if (testing::Test::HasFatalFailure()) return;
    const std::int64_t times = TimesOf(r, period, in.x.rows());
    const long double parts[3] = {gradients.dalpha, gradients.dscale, gradients.dbias};
    for (std::size_t k = 0; k < 3; ++k) {
      dangle[k] += times * parts[k];
      slack[k] += static_cast<double>(times) * bounds.dangle[k];
    }
  }
  ExpectAngleGradients(out, dangle, slack);
}

}  // namespace normlab::kernels
