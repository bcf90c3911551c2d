// What the CUDA kernels of GeoNorm share: the angle's rule, a row's sums as scaled, its curve.
#ifndef NORMLAB_KERNELS_GEONORM_GEONORM_DEVICE_CUH_
#define NORMLAB_KERNELS_GEONORM_GEONORM_DEVICE_CUH_

#include "kernels/common/device_rows.cuh"
#include "kernels/geonorm/geonorm_row.h"

namespace normlab::kernels {

using Rule = row::GeoAngle<double>;

inline Rule MakeRule(const normlab_geonorm_options& options) {
  Rule rule{};
  rule.retraction = options.retraction;
  rule.alpha = options.alpha;
  rule.scale = options.scale;
  rule.bias = options.bias;
  rule.clamp = options.angle_clamp > 0 ? options.angle_clamp : HUGE_VAL;
  rule.has_fixed_angle = options.has_fixed_angle != 0;
  rule.fixed_angle = options.fixed_angle;
  return rule;
}

// Of a row as scaled: x and v times their powers of two.
template <class Real>
struct ScaledSums {
  Real a, beta, u_squared;
  double x_scale, v_scale;

  __device__ __forceinline__ double A() const { return double(a) / x_scale / x_scale; }
  __device__ __forceinline__ double Beta() const { return double(beta) * (x_scale / v_scale); }
  __device__ __forceinline__ double USquared() const {
    return double(u_squared) / v_scale / v_scale;
  }
};

__device__ __forceinline__ bool InRange(const ScaledSums<float>& sums) {
  return sums.a > 1e-30f && sums.a < 1e30f && fabsf(sums.beta) < 1e15f && sums.u_squared < 1e30f;
}

struct Curve {
  row::GeoCurve<double> curve;
  double a, beta, p;
};

template <class Real>
__device__ __forceinline__ Curve CurveOf(const Rule& rule, const ScaledSums<Real>& sums) {
  Curve result{};
  result.a = sums.A();
  result.beta = sums.Beta();
  const double u_squared = sums.USquared();
  result.p = u_squared / result.a;
  result.curve = row::EvaluateCurve<double>(rule, result.p, u_squared,
                                            u_squared + result.beta * result.beta * result.a);
  return result;
}

template <class Real>
__device__ __forceinline__ void SaveRow(const Rule& rule, void* saved, std::int64_t row_index,
                                        const ScaledSums<Real>& sums) {
  Real* out = static_cast<Real*>(saved) + row_index * NORMLAB_GEONORM_SAVED;
  const double step = rule.has_fixed_angle ? 0.0 : rule.alpha * rule.scale;
  const double q = sums.a > 0 ? step * step * (sums.USquared() / sums.A()) : 0.0;
  const double values[4] = {sums.A(), sums.Beta(), sums.USquared(), q};
  for (int i = 0; i < 4; ++i) StoreGlobal(out + i, static_cast<Real>(values[i]));
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_DEVICE_CUH_
