// What both directions of GeoNorm share on CUDA: the angle's rule, a row's sums as scaled, its
// curve. Sums are fp32 with |u|^2 in a second pass over the registers, six scalars per row fp64
// (formulas in geonorm_row.h). Rows whose sums leave the safe range of fp32 are scaled by powers of
// two, which is exact, and summed again.
#ifndef NORMLAB_KERNELS_GEONORM_GEONORM_DEVICE_CUH_
#define NORMLAB_KERNELS_GEONORM_GEONORM_DEVICE_CUH_

#include "kernels/common/device_rows.cuh"
#include "kernels/geonorm/geonorm_row.h"
#include "kernels/include/normlab_kernels_cuda.h"

namespace normlab::kernels {

using Rule = row::GeoAngle<double>;

inline int CheckLearned(const normlab_cuda_learned_angle& learned, normlab_dtype stream) {
  NORMLAB_RETURN_IF_FAULT(CheckPointer("learned scale", learned.scale, stream));
  return CheckPointer("learned bias", learned.bias, stream);
}

// With the numbers that are learned and live on the device.
template <class Real>
__device__ __forceinline__ Rule WithLearned(Rule rule, const normlab_cuda_learned_angle& learned) {
  if (learned.scale != nullptr) rule.scale = Get<double>(static_cast<const Real*>(learned.scale));
  if (learned.bias != nullptr) rule.bias = Get<double>(static_cast<const Real*>(learned.bias));
  return rule;
}

// A power of two and its reciprocal: multiplying by either is exact, and a division in fp64 costs
// as much as a dozen columns of the row. fp32, for they live as long as the row does.
struct PowerOfTwo {
  __device__ __forceinline__ explicit PowerOfTwo(float scale = 1)
      : scale(scale), inverse(1 / scale) {}
  float scale, inverse;
};

// Of a row as scaled: x and v times their powers of two.
template <class Real>
struct ScaledSums {
  Real a, beta, u_squared;
  PowerOfTwo of_x, of_v;

  __device__ __forceinline__ double A() const { return double(a) * of_x.inverse * of_x.inverse; }
  __device__ __forceinline__ double Beta() const {
    return double(beta) * of_x.scale * of_v.inverse;
  }
  __device__ __forceinline__ double USquared() const {
    return double(u_squared) * of_v.inverse * of_v.inverse;
  }
};

// least: see LeastTangent.
__device__ __forceinline__ bool InRange(const ScaledSums<float>& sums, double least) {
  return sums.a > 1e-30f && sums.a < 1e30f && fabsf(sums.beta) < 1e15f && sums.u_squared < 1e30f &&
         sums.u_squared > least;
}

struct Curve {
  row::GeoCurve<double> curve;
  double a, share, beta, p;  // share = 1/a
};

template <class Real>
__device__ __forceinline__ Curve CurveOf(const Rule& rule, const ScaledSums<Real>& sums) {
  Curve result{};
  result.a = sums.A();
  result.beta = sums.Beta();
  const double u_squared = sums.USquared();
  result.share = 1 / result.a;
  result.p = u_squared * result.share;
  result.curve = row::EvaluateCurve<double, row::kSeriesTerms<Real>>(
      rule, result.p, u_squared, u_squared + result.beta * result.beta * result.a);
  return result;
}

// p: that of the row's curve; 0 of a zero row.
template <class Real>
__device__ __forceinline__ void SaveRow(const Rule& rule, void* saved, std::int64_t row_index,
                                        const ScaledSums<Real>& sums, double p) {
  Real* out = static_cast<Real*>(saved) + row_index * NORMLAB_GEONORM_SAVED;
  const double step = rule.has_fixed_angle ? 0.0 : rule.alpha * rule.scale;
  const double values[4] = {sums.A(), sums.Beta(), sums.USquared(), step * step * p};
  for (int i = 0; i < 4; ++i) StoreGlobal(out + i, static_cast<Real>(values[i]));
}

// ---- rows in registers -------------------------------------------------------------------------

// One warp up to kNarrow columns, else two; a group of columns is 16 bytes of the narrower type,
// alike for both so that columns meet.
template <class Pair, int kCols, int kNarrow>
using GeoNormLayout =
    RowLayout<kCols, kCols <= kNarrow ? kWarp : 2 * kWarp,
              sizeof(typename Pair::Stream) == 2 || sizeof(typename Pair::Branch) == 2 ? 8 : 4>;

template <class Layout>
__device__ __forceinline__ ScaledSums<float> SumRow(const RegisterRow<Layout>& x,
                                                    const RegisterRow<Layout>& v, PowerOfTwo of_x,
                                                    PowerOfTwo of_v) {
  float dots[2] = {0, 0};
  EachColumn<Layout>([&](int s, int i) {
    dots[0] = MultiplyAdd(x.value[s][i], x.value[s][i], dots[0]);
    dots[1] = MultiplyAdd(x.value[s][i], v.value[s][i], dots[1]);
  });
  ReduceRows<Layout::kThreads>(dots, Add{});
  const float beta = dots[0] != 0 ? dots[1] / dots[0] : 0.0f;
  float uu = 0;
  EachColumn<Layout>([&](int s, int i) {
    const float u = MultiplyAdd(-beta, x.value[s][i], v.value[s][i]);
    uu = MultiplyAdd(u, u, uu);
  });
  return {dots[0], beta, ReduceRow<Layout::kThreads>(uu, Add{}), of_x, of_v};
}

// Scales a row in place by the power of two that brings it near 1, and returns that.
template <class Layout>
__device__ __forceinline__ PowerOfTwo BringNearOne(RegisterRow<Layout>* row_values) {
  const float scale = ScaleFor(Largest(*row_values));
  ScaleBy(scale, row_values);
  return PowerOfTwo(scale);
}

// ---- any width ---------------------------------------------------------------------------------

// The arithmetic is fp64 for every storage type: nothing leaves its range, and these widths are not
// what anyone trains at.
template <class X, class V>
__device__ __forceinline__ ScaledSums<double> SumAnyRow(const X* x, const V* v, std::int64_t cols) {
  double dots[2] = {0, 0};
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double value = Get<double>(x + c);
    dots[0] += value * value;
    dots[1] += value * Get<double>(v + c);
  });
  ReduceRows<kAnyWidthBlock>(dots, Add{});
  const double beta = dots[0] != 0 ? dots[1] / dots[0] : 0.0;
  double uu = 0;
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double u = Get<double>(v + c) - beta * Get<double>(x + c);
    uu += u * u;
  });
  return {dots[0], beta, ReduceRow<kAnyWidthBlock>(uu, Add{}), PowerOfTwo(), PowerOfTwo()};
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_DEVICE_CUH_
