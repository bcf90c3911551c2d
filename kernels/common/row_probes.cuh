// What the probes want to know of an updated row, from the registers that it is stored from:
// mean |y|, sum y^2, and for residual updates the angle between old and new row.
#ifndef NORMLAB_KERNELS_COMMON_ROW_PROBES_CUH_
#define NORMLAB_KERNELS_COMMON_ROW_PROBES_CUH_

#include "kernels/common/device_rows.cuh"

namespace normlab::kernels {

template <class Real>
__device__ __forceinline__ void StoreProbes(void* probes, std::int64_t row, double mean,
                                            double squares, double angle) {
  Real* out = static_cast<Real*>(probes) + row * NORMLAB_ROW_PROBES;
  StoreGlobal(out, static_cast<Real>(mean));
  StoreGlobal(out + 1, static_cast<Real>(squares));
  StoreGlobal(out + 2, static_cast<Real>(angle));
}

// Sums of |y| and of y^2 over the row as stored.
template <class Layout>
__device__ __forceinline__ void MagnitudeSums(const RegisterRow<Layout>& y, float (&sums)[2]) {
  sums[0] = sums[1] = 0;
  EachColumn<Layout>([&](int s, int i) {
    sums[0] += fabsf(y.value[s][i]);
    sums[1] = MultiplyAdd(y.value[s][i], y.value[s][i], sums[1]);
  });
  ReduceRows<Layout::kThreads>(sums, Add{});
}

// 2·atan(|p - q|/|p + q|) of the unit rows: exact for small angles, where acos of a cosine is not.
// NaN where a row is zero or not finite.
template <class Layout>
__device__ __forceinline__ double AngleBetween(const RegisterRow<Layout>& x,
                                               const RegisterRow<Layout>& y, float squares_y) {
  float squares_x = 0;
  EachColumn<Layout>(
      [&](int s, int i) { squares_x = MultiplyAdd(x.value[s][i], x.value[s][i], squares_x); });
  squares_x = ReduceRow<Layout::kThreads>(squares_x, Add{});
  const float p = static_cast<float>(1 / sqrt(static_cast<double>(squares_x)));
  const float q = static_cast<float>(1 / sqrt(static_cast<double>(squares_y)));
  float sums[2] = {0, 0};
  EachColumn<Layout>([&](int s, int i) {
    const float one = p * x.value[s][i], other = q * y.value[s][i];
    sums[0] = MultiplyAdd(one - other, one - other, sums[0]);
    sums[1] = MultiplyAdd(one + other, one + other, sums[1]);
  });
  ReduceRows<Layout::kThreads>(sums, Add{});
  return 2 * atan(sqrt(static_cast<double>(sums[0]) / static_cast<double>(sums[1])));
}

// Both for a row in memory, over the whole block; y is read back by the threads that wrote it.
template <class Y>
__device__ __forceinline__ void MagnitudeSumsAny(const Y* y, std::int64_t cols, double (&sums)[2]) {
  sums[0] = sums[1] = 0;
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double value = Get<double>(y + c);
    sums[0] += fabs(value);
    sums[1] += value * value;
  });
  ReduceRows<kAnyWidthBlock>(sums, Add{});
}

template <class X>
__device__ __forceinline__ double AngleBetweenAny(const X* x, const X* y, double squares_y,
                                                  std::int64_t cols) {
  double squares_x = 0;
  EachOwnColumn(cols,
                [&](std::int64_t c) { squares_x += Get<double>(x + c) * Get<double>(x + c); });
  squares_x = ReduceRow<kAnyWidthBlock>(squares_x, Add{});
  const double p = 1 / sqrt(squares_x), q = 1 / sqrt(squares_y);
  double sums[2] = {0, 0};
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double one = p * Get<double>(x + c), other = q * Get<double>(y + c);
    sums[0] += (one - other) * (one - other);
    sums[1] += (one + other) * (one + other);
  });
  ReduceRows<kAnyWidthBlock>(sums, Add{});
  return 2 * atan(sqrt(sums[0] / sums[1]));
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_ROW_PROBES_CUH_
