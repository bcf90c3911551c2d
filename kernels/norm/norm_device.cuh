// LayerNorm and RMSNorm of one row on CUDA, for the norms' own kernels and for the residual
// updates: mean first, then the centred squares, both from registers. Statistics that fp32 could
// not hold are worked out again from the row scaled by a power of two.
#ifndef NORMLAB_KERNELS_NORM_NORM_DEVICE_CUH_
#define NORMLAB_KERNELS_NORM_NORM_DEVICE_CUH_

#include "kernels/common/device_rows.cuh"
#include "kernels/norm/relaxed_eps.h"

namespace normlab::kernels {

// Norms and residual updates share one layout for each direction, whatever the storage types: a
// row's sums, and the column sums over rows, are then taken in one order, and an update with its
// next norm gives the bits of the update and the norm apart. Forward passes hold few rows, backward
// passes up to eight.
template <int kCols>
using NormForwardLayout = RowLayout<kCols, kCols <= 1024 ? kWarp : 2 * kWarp, 8>;
template <int kCols>
using NormBackwardLayout =
    RowLayout<kCols, kCols <= 384 ? kWarp : (kCols / 8 + kWarp - 1) / kWarp * kWarp, 8>;

// Row groups of a backward pass, each with partial column sums of its own.
struct NormBackwardGroups {
  std::int64_t rows;

  template <int kCols>
  std::int64_t Width() const {
    using Layout = NormBackwardLayout<kCols>;
    return BlocksFor<Layout>(rows) * Layout::kRowsPerBlock;
  }
  std::int64_t AnyWidth() const { return AnyWidthBlocksFor(rows); }
};
inline std::int64_t NormBackwardGroupsFor(std::int64_t rows, std::int64_t cols,
                                          normlab_dtype stream) {
  const NormBackwardGroups groups{rows};
  return stream == NORMLAB_F64 ? groups.AnyWidth() : DispatchWidth(cols, groups);
}

struct Statistics {
  double mean, rstd;

  __device__ __forceinline__ bool FitFloat() const { return rstd < 1e30 && rstd > 1e-30; }
  // Where rstd is beyond fp32: the first of two factors that are not.
  __device__ __forceinline__ float Step() const {
    return FitFloat() ? 1.0f : rstd > 1 ? 1.0e30f : 1.0e-30f;
  }
};

// ---- rows in registers -------------------------------------------------------------------------

template <class Layout>
__device__ __forceinline__ void Moments(bool centred, const RegisterRow<Layout>& x, int thread,
                                        float* mean, float* variance) {
  *mean = 0;
  if (centred) {
    float sum = 0;
    EachColumn<Layout>([&](int s, int i) { sum += x.value[s][i]; });
    *mean = ReduceRow<Layout::kThreads>(sum, Add{}) / Layout::kCols;
  }
  float squares = 0;
  EachColumn<Layout>([&](int s, int i) {
    const float deviation = Holds<Layout>(s, thread) ? x.value[s][i] - *mean : 0.0f;
    squares = MultiplyAdd(deviation, deviation, squares);
  });
  *variance = ReduceRow<Layout::kThreads>(squares, Add{}) / Layout::kCols;
}

// Leaves the row as it was: scaling by a power of two and back is exact, but for columns so small
// beside the largest that they do not count.
template <class Layout>
__device__ __forceinline__ Statistics StatisticsOf(const normlab_norm_options& options, int thread,
                                                   RegisterRow<Layout>* x) {
  const bool centred = options.kind == NORMLAB_LAYERNORM;
  double eps = options.eps;
  if (options.pb_relax != 0) eps = row::RelaxedEps(eps, Largest(*x));
  float scale = 1, mean, variance;
#pragma unroll 1
  for (int pass = 0;; ++pass) {
    Moments(centred, *x, thread, &mean, &variance);
    const double total = variance + eps;
    if (pass == 1 || (variance < 1e30f && (total > 1e-25 || variance > 1e-25f))) break;
    scale = ScaleFor(Largest(*x));
    ScaleBy(scale, x);
  }
  if (scale != 1) ScaleBy(1 / scale, x);
  return {double(mean) / scale, 1 / sqrt(double(variance) / scale / scale + eps)};
}

// What the forward pass saved, worked out again where fp32 could not hold it.
template <class Layout>
__device__ __forceinline__ Statistics SavedStatistics(const normlab_norm_options& options,
                                                      const void* saved, std::int64_t row,
                                                      int thread, RegisterRow<Layout>* x) {
  const float* own = static_cast<const float*>(saved) + row * NORMLAB_NORM_SAVED;
  const Statistics kept{LoadGlobal(own), LoadGlobal(own + 1)};
  return kept.FitFloat() ? kept : StatisticsOf(options, thread, x);
}

template <class Real>
__device__ __forceinline__ void SaveStatistics(const Statistics& row, void* saved,
                                               std::int64_t at) {
  Real* out = static_cast<Real*>(saved) + at * NORMLAB_NORM_SAVED;
  StoreGlobal(out, static_cast<Real>(row.mean));
  StoreGlobal(out + 1, static_cast<Real>(row.rstd));
}

// (x - mean)·rstd in place.
template <class Layout>
__device__ __forceinline__ void Normalize(const Statistics& row, int thread,
                                          RegisterRow<Layout>* x) {
  const float first = row.Step();
  const float mean = static_cast<float>(row.mean * first);
  const float rstd = static_cast<float>(row.rstd / first);
  EachColumn<Layout>([&](int s, int i) {
    const float unit = MultiplyAdd(x->value[s][i], first, -mean) * rstd;
    x->value[s][i] = Holds<Layout>(s, thread) ? unit : 0.0f;
  });
}

// unit·gain + bias in place; null pointers mean ones and zeros.
template <class Layout>
__device__ __forceinline__ void ApplyParameters(const void* gain, const void* bias, int thread,
                                                RegisterRow<Layout>* unit) {
  RegisterRow<Layout> gains, biases;
  LoadParameter(gain, thread, 1.0f, &gains);
  LoadParameter(bias, thread, 0.0f, &biases);
  EachColumn<Layout>([&](int s, int i) {
    unit->value[s][i] = MultiplyAdd(unit->value[s][i], gains.value[s][i], biases.value[s][i]);
  });
}

// The column sums of one norm, kept while a thread strides over its rows.
template <class Layout>
struct NormSums {
  RegisterRow<Layout> gain, bias;
};

// g = dL/d(norm's output) becomes dL/d(norm's input); sums take g·unit and g.
template <class Layout>
__device__ __forceinline__ void ThroughNorm(bool centred, const Statistics& row, const void* gain,
                                            int thread, const RegisterRow<Layout>& unit,
                                            RegisterRow<Layout>* g, NormSums<Layout>* sums) {
  RegisterRow<Layout> gains;
  LoadParameter(gain, thread, 1.0f, &gains);
  float means[2] = {0, 0};
  EachColumn<Layout>([&](int s, int i) {
    float& upstream = g->value[s][i];
    if (sums != nullptr) {
      sums->gain.value[s][i] = MultiplyAdd(upstream, unit.value[s][i], sums->gain.value[s][i]);
      sums->bias.value[s][i] += upstream;
    }
    upstream *= gains.value[s][i];
    means[0] += upstream;
    means[1] = MultiplyAdd(upstream, unit.value[s][i], means[1]);
  });
  ReduceRows<Layout::kThreads>(means, Add{});
  const float of_one = centred ? means[0] / Layout::kCols : 0.0f;
  const float of_unit = means[1] / Layout::kCols;
  const float first = row.Step(), rstd = static_cast<float>(row.rstd / first);
  EachColumn<Layout>([&](int s, int i) {
    const float across = MultiplyAdd(-unit.value[s][i], of_unit, g->value[s][i] - of_one);
    g->value[s][i] = Holds<Layout>(s, thread) ? rstd * across * first : 0.0f;
  });
}

// ---- any width: the row is a function of the column --------------------------------------------

template <class Value>
__device__ __forceinline__ Statistics AnyStatistics(const normlab_norm_options& options,
                                                    std::int64_t cols, Value value) {
  double eps = options.eps, mean = 0;
  if (options.pb_relax != 0) {
    double largest = 0;
    EachOwnColumn(cols, [&](std::int64_t c) { largest = Maximum{}(largest, fabs(value(c))); });
    eps = row::RelaxedEps(eps, ReduceRow<kAnyWidthBlock>(largest, Maximum{}));
  }
  if (options.kind == NORMLAB_LAYERNORM) {
    double sum = 0;
    EachOwnColumn(cols, [&](std::int64_t c) { sum += value(c); });
    mean = ReduceRow<kAnyWidthBlock>(sum, Add{}) / static_cast<double>(cols);
  }
  double squares = 0;
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double deviation = value(c) - mean;
    squares += deviation * deviation;
  });
  const double variance = ReduceRow<kAnyWidthBlock>(squares, Add{}) / static_cast<double>(cols);
  return {mean, 1 / sqrt(variance + eps)};
}

template <class Real>
__device__ __forceinline__ double ParameterAt(const void* parameter, std::int64_t column,
                                              double otherwise) {
  return parameter == nullptr ? otherwise
                              : Get<double>(static_cast<const Real*>(parameter) + column);
}

// Means over the row of w and of w·unit, w the upstream times gain.
struct AnyDots {
  double of_one, of_unit;
};

template <class Weighted, class Unit>
__device__ __forceinline__ AnyDots DotsOf(normlab_norm_kind kind, std::int64_t cols,
                                          Weighted weighted, Unit unit) {
  double sums[2] = {0, 0};
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double upstream = weighted(c);
    sums[0] += upstream;
    sums[1] += upstream * unit(c);
  });
  ReduceRows<kAnyWidthBlock>(sums, Add{});
  const double width = static_cast<double>(cols);
  return {kind == NORMLAB_RMSNORM ? 0.0 : sums[0] / width, sums[1] / width};
}

// A block's own column of partial sums in memory; each thread adds to its own columns only.
template <class Real>
__device__ __forceinline__ void AddTo(Real* sum, double value) {
  StoreGlobal(sum, static_cast<Real>(LoadGlobal(sum) + value));
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_NORM_NORM_DEVICE_CUH_
