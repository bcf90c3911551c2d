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

using LaneMask = typename VectorOf<std::int64_t, kVectorBytes>::type;

// Entries of as many rows as a vector has lanes.
NORMLAB_INLINE Vec<double> LoadLanes(const double* from) { return LoadRaw<Vec<double>>(from); }
NORMLAB_INLINE Vec<double> LoadLanes(const float* from) { return WidenFloats<kVectorBytes>(from); }
NORMLAB_INLINE void StoreLanes(std::int64_t* to, LaneMask lanes) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}
NORMLAB_INLINE void StoreLanes(double* to, Vec<double> lanes) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}
NORMLAB_INLINE void StoreLanes(float* to, Vec<double> lanes) {
  NarrowDoubles<kVectorBytes>(to, lanes);
}

// What reading the rows of a block gives, one entry a row; entries beyond its rows hold anything.
struct BlockSums {
  double a[kBlockRows];
  double beta[kBlockRows];
  double u_squared[kBlockRows];
};

// C, T and their derivatives in p (geonorm_row.h), p itself and 1/a.
struct BlockCurve {
  double c[kBlockRows];
  double t[kBlockRows];
  double dc[kBlockRows];
  double dt[kBlockRows];
  double p[kBlockRows];
  double share[kBlockRows];
  std::int64_t trusted[kBlockRows];  // 0 where the sums left the safe range of the arithmetic
  bool all_trusted;
};

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

// Sums that can be trusted as they are; written so that NaN and a row of zeros are not. least: see
// LeastTangent.
template <class Real>
NORMLAB_INLINE LaneMask Trusted(Vec<double> a, Vec<double> beta, Vec<double> u_squared,
                                double least) {
  if constexpr (sizeof(Real) == 8) return a != 0;
  return (a > 1e-30) & (a < 1e30) & (beta * beta < 1e30) & (u_squared < 1e30) & (u_squared > least);
}

inline GeoCurve<double> CurveOfRow(const GeoAngle<double>& rule, const BlockSums& sums, int row) {
  const double u_squared = sums.u_squared[row], beta = sums.beta[row], a = sums.a[row];
  return EvaluateCurve<double>(rule, u_squared / a, u_squared, u_squared + beta * beta * a);
}

// Curves of the block's rows, to the accuracy of Real. A row that is not trusted gets anything.
template <class Real>
NORMLAB_INLINE void CurvesOfBlock(const GeoAngle<double>& rule, const BlockSums& sums, int count,
                                  bool gradients_wanted, BlockCurve* curve) {
  const double step = rule.alpha * rule.scale;
  const double most = rule.clamp * rule.clamp, least = LeastTangent(rule, gradients_wanted);
  const bool smooth = rule.VanishesWithU() && rule.retraction == 0;
  std::int64_t by_series[kBlockRows];
  bool all_trusted = true, all_by_series = smooth;
  for (int r = 0; r < kBlockRows; r += kLanes<double>) {
    const auto a = LoadLanes(sums.a + r), u_squared = LoadLanes(sums.u_squared + r);
    const auto share = 1.0 / a, p = u_squared * share, q = step * step * p;
    // As if the angle vanished with u, stayed below one radian and met no clamp.
    Vec<double> c, s, dc, ds;
    ExpSeriesOfLanes<sizeof(Real) == 8 ? 10 : 6>(q, &c, &s, &dc, &ds);
    const LaneMask trusted = Trusted<Real>(a, LoadLanes(sums.beta + r), u_squared, least);
    const LaneMask holds = (q < 1.0) & (p <= most) & (q <= most);
    all_trusted = all_trusted && AllOf(trusted);
    all_by_series = all_by_series && AllOf(holds);
    StoreLanes(curve->trusted + r, trusted);
    StoreLanes(by_series + r, holds);
    StoreLanes(curve->share + r, share);
    StoreLanes(curve->p + r, p);
    StoreLanes(curve->c + r, c);
    StoreLanes(curve->t + r, step * s);
    StoreLanes(curve->dc + r, step * step * dc);
    StoreLanes(curve->dt + r, step * step * step * ds);
  }
  curve->all_trusted = all_trusted;
  if (all_by_series) return;
  for (int r = 0; r < count; ++r) {
    if (smooth && by_series[r] != 0) continue;
    const GeoCurve<double> exact = CurveOfRow(rule, sums, r);
    curve->c[r] = exact.c;
    curve->t[r] = exact.t;
    curve->dc[r] = exact.dc;
    curve->dt[r] = exact.dt;
  }
}

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_BLOCK_H_
