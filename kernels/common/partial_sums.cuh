// The second launch of a backward pass: partials that the row groups left behind, added in an order
// that depends on nothing but their number. Column sums (dgain, dbias, ...) and single numbers.
#ifndef NORMLAB_KERNELS_COMMON_PARTIAL_SUMS_CUH_
#define NORMLAB_KERNELS_COMMON_PARTIAL_SUMS_CUH_

#include "kernels/common/device_rows.cuh"

namespace normlab::kernels {

constexpr int kMostColumnSums = 7;

// Where the column sums go. Partial k of row group i starts at (i·kinds + k)·cols.
template <class Real>
struct ColumnOutputs {
  const Real* partials = nullptr;
  std::int64_t groups = 0, cols = 0;
  int kinds = 0;
  int wanted = 0;
  int kind[kMostColumnSums] = {};
  Real* out[kMostColumnSums] = {};

  void Want(int which, void* to) {
    if (to == nullptr) return;
    kind[wanted] = which;
    out[wanted++] = static_cast<Real*>(to);
  }
};

constexpr int kSumWarps = 8;

// A block adds up 32 columns of one output: each warp an unbroken part of the groups, then the
// parts in their order.
template <class Real>
__global__ void __launch_bounds__(kSumWarps* kWarp) AddColumns(ColumnOutputs<Real> outputs) {
  const std::int64_t strips = (outputs.cols + kWarp - 1) / kWarp;
  const int which = static_cast<int>(blockIdx.x / strips);
  int kind = 0;
  Real* out = nullptr;
#pragma unroll
  for (int i = 0; i < kMostColumnSums; ++i) {  // an index known only here would need a stack
    if (i == which) kind = outputs.kind[i], out = outputs.out[i];
  }
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t column = blockIdx.x % strips * kWarp + lane;
  const bool there = column < outputs.cols;
  const std::int64_t begin = outputs.groups * warp / kSumWarps;
  const std::int64_t end = outputs.groups * (warp + 1) / kSumWarps;
  double sum = 0;
  if (there && begin < end) {
    const std::int64_t step = outputs.kinds * outputs.cols;
    const Real* at = outputs.partials + begin * step + kind * outputs.cols + column;
    for (std::int64_t i = begin; i < end; ++i, at += step) sum += LoadGlobal(at);
  }
  __shared__ double parts[kSumWarps][kWarp];
  parts[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || !there) return;
  for (int i = 1; i < kSumWarps; ++i) sum += parts[i][lane];
  StoreGlobal(out + column, static_cast<Real>(sum));
}

template <class Real>
int LaunchAddColumns(const ColumnOutputs<Real>& outputs, void* stream) {
  const std::int64_t strips = (outputs.cols + kWarp - 1) / kWarp;
  return Launch(&AddColumns<Real>, strips * outputs.wanted, kSumWarps * kWarp, stream, outputs);
}

// out[k] = sum over i of partials[i·numbers + k]; one warp for each k.
template <class Real>
__global__ void AddNumbers(const Real* partials, std::int64_t count, Real* out) {
  const int which = static_cast<int>(threadIdx.x) / kWarp;
  const int numbers = static_cast<int>(blockDim.x) / kWarp;
  Real sum = 0;
  for (std::int64_t i = threadIdx.x % kWarp; i < count; i += kWarp) {
    sum += LoadGlobal(partials + i * numbers + which);
  }
  sum = ReduceWarp(sum, Add{});
  if (threadIdx.x % kWarp == 0) StoreGlobal(out + which, sum);
}

inline int LaunchAddNumbers(const double* partials, std::int64_t count, int numbers, double* out,
                            void* stream) {
  return Launch(&AddNumbers<double>, 1, numbers * kWarp, stream, partials, count, out);
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_PARTIAL_SUMS_CUH_
