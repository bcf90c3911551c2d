// The scalars of one GeoNorm row, shared by the CPU kernels (per instruction set) and by the CUDA
// kernels. Whatever the angle's rule, a row is
//
//   y = C·x + T·u      u = v - beta·x      beta = <x,v>/a      a = |x|^2      p = |u|^2/a
//
// with C = cos(theta), T = sin(theta)/sqrt(p), both functions of p alone, and its gradient is
//
//   dL/dp = G = C'·<g,x> + T'·<g,u>        gamma = <g,x>/a
//   dv = T·(g - gamma·x) + (2G/a)·u
//   dx = C·g - T·gamma·u - (2pG/a)·x - beta·dv
//
// For angles that vanish with u, C and T are smooth in p and come from power series near p = 0:
// no root, no division, no branch on the angle (GeoNorm, arXiv 2601.22095; the closed form of T'
// in fp32 is 7 % off at q = 1e-6 and 100 % at 1e-8).
#ifndef NORMLAB_KERNELS_GEONORM_GEONORM_ROW_H_
#define NORMLAB_KERNELS_GEONORM_GEONORM_ROW_H_

#include <cstdint>

#include "kernels/common/portable_math.h"
#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels::NORMLAB_ROW_NAMESPACE {

// normlab_geonorm_options, ready for use: clamp is Inf where there is none.
template <class Real>
struct GeoAngle {
  int retraction;
  Real alpha, scale, bias, clamp, fixed_angle;
  bool has_fixed_angle;

  NORMLAB_HD bool VanishesWithU() const { return !has_fixed_angle && bias == 0; }
};

// The least |u|^2 that a sum in fp32 can be trusted with. Below it u's squares are subnormal, or
// zero where the processor flushes those. A curve that is smooth in p does not notice; the
// direction of u does, which an angle that does not vanish with u needs, and so do the angle's
// gradients.
template <class Real>
NORMLAB_HD inline Real LeastTangent(const GeoAngle<Real>& rule, bool gradients_wanted) {
  return rule.VanishesWithU() && !gradients_wanted ? Real(-1e30) : Real(1e-30);
}

inline GeoAngle<double> AngleRule(const normlab_geonorm_options& options) {
  return {options.retraction,
          options.alpha,
          options.scale,
          options.bias,
          options.angle_clamp > 0 ? options.angle_clamp : HUGE_VAL,
          options.fixed_angle,
          options.has_fixed_angle != 0};
}

// Angle in [0, pi] of a step of theta along a great circle; NaN where theta is not finite.
NORMLAB_HD inline double WrappedAngle(double theta) {
  constexpr double kPi = 3.14159265358979323846;
  theta = Absolute(theta);
  if (!(theta < 1e15)) return theta - theta;
  theta -= 2 * kPi * static_cast<double>(static_cast<std::int64_t>(theta / (2 * kPi)));
  return theta > kPi ? 2 * kPi - theta : theta;
}

// C and T of a row, their derivatives in p, and what the angle's own parameters need.
template <class Real>
struct GeoCurve {
  Real c, t, dc, dt;
  Real dtheta_dangle;  // d(angle after retraction)/d(angle before it); 0 where clamped
  Real theta;          // after the retraction
  Real ratio;          // min(|u|/|x|, clamp)
  bool still;          // the row counts as u = 0 although the angle does not vanish there
};

// Terms of the power series that an accuracy takes: those of Real, or fewer where its results are
// rounded to fp32 anyway.
template <class Real>
constexpr int kSeriesTerms = sizeof(Real) == 8 ? 10 : 6;

// cos(sqrt q), sin(sqrt q)/sqrt q and their derivatives in q, for q < 1.
template <int kTerms, class Real>
NORMLAB_HD inline void ExpSeries(Real q, Real* c, Real* s, Real* dc, Real* ds) {
  // Horner from the last term: c = 1 - q/(1·2)·(1 - q/(3·4)·(...)), likewise s and K.
  Real cosine = 1, sine = 1, slope = 1;
#if defined(__CUDACC__)
#pragma unroll
#endif
  for (int n = kTerms; n >= 1; --n) {
    cosine = 1 - q * (Real(1) / Real((2 * n - 1) * (2 * n))) * cosine;
    sine = 1 - q * (Real(1) / Real((2 * n) * (2 * n + 1))) * sine;
    // dS/dq = -1/6·(1 - 2q/(4·5)·(1 - 3q/(2·6·7)·(1 - 4q/(3·8·9)·(...))))
    slope = 1 - q * (Real(n + 1) / (Real(n) * Real((2 * n + 2) * (2 * n + 3)))) * slope;
  }
  *c = cosine;
  *s = sine;
  *dc = Real(-0.5) * sine;
  *ds = slope * (Real(-1) / Real(6));
}

// C and S of the three retractions and their derivatives, as functions of q = (angle before)^2.
template <int kTerms, class Real>
NORMLAB_HD inline void SmoothCurve(int retraction, Real q, Real* c, Real* s, Real* dc, Real* ds) {
  if (retraction == NORMLAB_PROJECTION) {
    const Real root = 1 / Sqrt(1 + q);
    *c = *s = root;
    *dc = *ds = Real(-0.5) * root / (1 + q);
  } else if (retraction == NORMLAB_CAYLEY) {
    const Real share = 1 / (1 + q / 4);
    *c = 2 * share - 1;
    *s = share;
    *dc = Real(-0.5) * share * share;
    *ds = Real(-0.25) * share * share;
  } else if (q < 1) {
    ExpSeries<kTerms>(q, c, s, dc, ds);
  } else {
    const Real theta = Sqrt(q);
    *c = Cos(theta);
    *s = Sin(theta) / theta;
    *dc = Real(-0.5) * *s;
    *ds = (*c - *s) / (2 * q);
  }
}

template <class Real>
NORMLAB_HD inline Real Retract(int retraction, Real angle, Real* slope) {
  if (retraction == NORMLAB_PROJECTION) {
    *slope = 1 / (1 + angle * angle);
    return ArcTan(angle);
  }
  if (retraction == NORMLAB_CAYLEY) {
    *slope = 1 / (1 + angle * angle / 4);
    return 2 * ArcTan(angle / 2);
  }
  *slope = 1;
  return angle;
}

// The angle without retraction, and whether either clamp holds it.
template <class Real>
NORMLAB_HD inline Real AngleBefore(const GeoAngle<Real>& rule, Real ratio, bool* held_in,
                                   bool* held_out) {
  *held_in = ratio > rule.clamp;
  Real angle = ((*held_in ? rule.clamp : ratio) * rule.scale + rule.bias) * rule.alpha;
  *held_out = !(Absolute(angle) <= rule.clamp) && angle == angle;
  if (*held_out) angle = angle < 0 ? -rule.clamp : rule.clamp;
  return angle;
}

// C and T through the angle itself: where a clamp holds it, or where it does not vanish with u.
// Needs p > 0.
template <class Real>
NORMLAB_HD inline GeoCurve<Real> DirectCurve(const GeoAngle<Real>& rule, Real p) {
  GeoCurve<Real> curve{};
  const Real ratio = Sqrt(p);
  bool held_in = false, held_out = false;
  curve.ratio = ratio > rule.clamp ? rule.clamp : ratio;
  Real slope_in_ratio = 0;
  if (rule.has_fixed_angle) {
    curve.theta = rule.fixed_angle;
  } else {
    const Real before = AngleBefore(rule, ratio, &held_in, &held_out);
    Real slope = 0;
    curve.theta = Retract(rule.retraction, before, &slope);
    curve.dtheta_dangle = held_out ? 0 : slope;
    slope_in_ratio = held_in ? 0 : curve.dtheta_dangle * rule.scale * rule.alpha;
  }
  const Real cosine = Cos(curve.theta), sine = Sin(curve.theta);
  curve.c = cosine;
  curve.t = sine / ratio;
  curve.dc = -sine * slope_in_ratio / (2 * ratio);
  curve.dt = (cosine * slope_in_ratio - curve.t) / (2 * p);
  return curve;
}

// Everything about a row's angle, from p = |u|^2/a and the share |u|^2/|v|^2.
template <class Real, int kTerms = kSeriesTerms<Real>>
NORMLAB_HD inline GeoCurve<Real> EvaluateCurve(const GeoAngle<Real>& rule, Real p, Real u_squared,
                                               Real v_squared) {
  if (!rule.VanishesWithU()) {
    if (u_squared <= Real(1e-12) * v_squared) {
      GeoCurve<Real> curve{};
      curve.c = 1;
      curve.still = true;
      return curve;
    }
    return DirectCurve(rule, p);
  }
  const Real step = rule.alpha * rule.scale;
  const Real q = step * step * p;
  if (p > rule.clamp * rule.clamp || q > rule.clamp * rule.clamp) return DirectCurve(rule, p);

  GeoCurve<Real> curve{};
  Real s, ds;
  SmoothCurve<kTerms>(rule.retraction, q, &curve.c, &s, &curve.dc, &ds);
  curve.t = step * s;
  curve.dc *= step * step;
  curve.dt = step * step * step * ds;
  curve.ratio = Sqrt(p);
  curve.theta = Retract(rule.retraction, step * curve.ratio, &curve.dtheta_dangle);
  return curve;
}

// dL/d(alpha, scale, bias) of one row, added to sums[3].
template <class Real, class Total>
NORMLAB_HD inline void AddAngleGradients(const GeoAngle<Real>& rule, const GeoCurve<Real>& curve,
                                         Real gx, Real gu, Real p, Total* sums) {
  if (rule.has_fixed_angle || curve.still) return;
  const Real ratio = Sqrt(p);
  // At u = 0 the angle has no direction; its limit is 0 for every parameter.
  const Real along = ratio > 0 ? gu / ratio : Real(0);
  const Real dangle = (Cos(curve.theta) * along - Sin(curve.theta) * gx) * curve.dtheta_dangle;
  sums[0] += Total(dangle * (curve.ratio * rule.scale + rule.bias));
  sums[1] += Total(dangle * curve.ratio * rule.alpha);
  if (ratio > 0) sums[2] += Total(dangle * rule.alpha);
}

}  // namespace normlab::kernels::NORMLAB_ROW_NAMESPACE

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_ROW_H_
