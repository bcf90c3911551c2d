// The scalars of a block of GeoNorm rows, one row per vector lane: a row's curve costs about as
// much arithmetic as 128 of its elements, and its instructions wait for each other, so working rows
// out side by side is what lets short rows run at the speed of memory. A lane's result depends on
// that lane alone.
#ifndef NORMLAB_KERNELS_GEONORM_GEONORM_BLOCK_H_
#define NORMLAB_KERNELS_GEONORM_GEONORM_BLOCK_H_

#include "kernels/common/vec.h"
#include "kernels/geonorm/geonorm_row.h"

namespace normlab::kernels::NORMLAB_ISA {

// At most as many rows as the widest vector has doubles.
constexpr int kBlockRows = 8;

// What reading the rows of a block gives, one entry a row; entries beyond its rows hold anything.
template <class Real>
struct BlockSums {
  Real a[kBlockRows];
  Real beta[kBlockRows];
  Real u_squared[kBlockRows];
};

// C, T and their derivatives in p (geonorm_row.h), and p itself.
struct BlockCurve {
  double c[kBlockRows];
  double t[kBlockRows];
  double dc[kBlockRows];
  double dt[kBlockRows];
  double p[kBlockRows];
};

template <class Real>
NORMLAB_INLINE void Widen(const BlockSums<Real>& from, BlockSums<double>* to) {
  for (int r = 0; r < kBlockRows; ++r) {
    to->a[r] = static_cast<double>(from.a[r]);
    to->beta[r] = static_cast<double>(from.beta[r]);
    to->u_squared[r] = static_cast<double>(from.u_squared[r]);
  }
}

// The series of ExpSeries for a vector of rows; right for 0 <= q < 1, to fp32 with 6 terms and to
// fp64 with 10.
template <int kTerms>
NORMLAB_INLINE void ExpSeriesOfLanes(Vec<double> q, Vec<double>* c, Vec<double>* s, Vec<double>* dc,
                                     Vec<double>* ds) {
  Vec<double> cosine = Vec<double>{} + 1.0, sine = cosine, slope = cosine;
#pragma GCC unroll 10
  for (int n = kTerms; n >= 1; --n) {
    cosine = 1.0 - q * (1.0 / ((2 * n - 1) * (2 * n))) * cosine;
    sine = 1.0 - q * (1.0 / ((2 * n) * (2 * n + 1))) * sine;
    slope = 1.0 - q * ((n + 1.0) / (1.0 * n * ((2 * n + 2) * (2 * n + 3)))) * slope;
  }
  *c = cosine;
  *s = sine;
  *dc = -0.5 * sine;
  *ds = slope * (-1.0 / 6.0);
}

// Curves of the rows as if every angle vanished with u, stayed below one radian and met no clamp.
template <int kTerms>
NORMLAB_INLINE void SeriesOfBlock(double step, const BlockSums<double>& sums, int count,
                                  BlockCurve* curve) {
  for (int r = 0; r < count; r += kLanes<double>) {
    const auto p = LoadRaw<Vec<double>>(sums.u_squared + r) / LoadRaw<Vec<double>>(sums.a + r);
    Vec<double> c, s, dc, ds;
    ExpSeriesOfLanes<kTerms>(step * step * p, &c, &s, &dc, &ds);
    using At = Wide<double, 0>;
    At::Store(curve->p + r, p);
    At::Store(curve->c + r, c);
    At::Store(curve->t + r, step * s);
    At::Store(curve->dc + r, step * step * dc);
    At::Store(curve->dt + r, step * step * step * ds);
  }
}

inline GeoCurve<double> CurveOfRow(const GeoAngle<double>& rule, const BlockSums<double>& sums,
                                   int row) {
  const double u_squared = sums.u_squared[row], beta = sums.beta[row], a = sums.a[row];
  return EvaluateCurve<double>(rule, u_squared / a, u_squared, u_squared + beta * beta * a);
}

// Curves of the first `count` rows, to the accuracy of Real. A row with a = 0 or with sums that are
// not finite gets anything.
template <class Real>
inline void CurvesOfBlock(const GeoAngle<double>& rule, const BlockSums<double>& sums, int count,
                          BlockCurve* curve) {
  const double step = rule.alpha * rule.scale;
  const double most = rule.clamp * rule.clamp;
  const bool smooth = rule.VanishesWithU() && rule.retraction == 0;
  SeriesOfBlock<sizeof(Real) == 8 ? 10 : 6>(step, sums, count, curve);
  for (int r = 0; r < count; ++r) {
    const double p = curve->p[r], q = step * step * p;
    if (smooth && q < 1 && p <= most && q <= most) continue;
    const GeoCurve<double> exact = CurveOfRow(rule, sums, r);
    curve->c[r] = exact.c;
    curve->t[r] = exact.t;
    curve->dc[r] = exact.dc;
    curve->dt[r] = exact.dt;
  }
}

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_BLOCK_H_
