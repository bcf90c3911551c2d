// How rows are handed to blocks, and which widths have kernels of their own.
#ifndef NORMLAB_KERNELS_COMMON_DEVICE_ROWS_CUH_
#define NORMLAB_KERNELS_COMMON_DEVICE_ROWS_CUH_

#include <string>

#include "kernels/common/register_row.cuh"
#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Blocks stride over the rows. The number depends on nothing but the rows, so that partial sums are
// the same on every device; 528 is four per multiprocessor of the largest.
constexpr std::int64_t kMostBlocks = 528;

inline std::int64_t BlocksFor(std::int64_t rows, int rows_per_block) {
  const std::int64_t wanted = (rows + rows_per_block - 1) / rows_per_block;
  return wanted < kMostBlocks ? wanted : kMostBlocks;
}

// The rows that a thread looks after: first, first + step, ...
template <class Layout>
struct OwnRows {
  int thread;          // among those that share a row
  std::int64_t group;  // of threads that share a row, over the whole grid; the first row
  std::int64_t step;

  __device__ __forceinline__ OwnRows()
      : thread(static_cast<int>(threadIdx.x) % Layout::kThreads),
        group(std::int64_t{blockIdx.x} * Layout::kRowsPerBlock +
              static_cast<int>(threadIdx.x) / Layout::kThreads),
        step(std::int64_t{gridDim.x} * Layout::kRowsPerBlock) {}
};

// Threads of a block of the kernels for any width.
constexpr int kAnyWidthBlock = 128;

template <class Stored>
__device__ __forceinline__ Stored* DeviceRow(const normlab_matrix& matrix, std::int64_t row) {
  return static_cast<Stored*>(matrix.data) + row * matrix.row_stride;
}

// A row that does not fit the registers' layout: thread t looks after columns t, t + block, ...
template <class Body>
__device__ __forceinline__ void EachOwnColumn(std::int64_t cols, Body body) {
  for (std::int64_t column = threadIdx.x; column < cols; column += blockDim.x) body(column);
}

template <class Real>
__device__ __forceinline__ Real Widen(Bf16 value) {
  return static_cast<Real>(Bf16ToFloat(value));
}
template <class Real>
__device__ __forceinline__ Real Widen(float value) {
  return static_cast<Real>(value);
}
template <class Real>
__device__ __forceinline__ Real Widen(double value) {
  return static_cast<Real>(value);
}
template <class Real, class Stored>
__device__ __forceinline__ Real Get(const Stored* at) {
  return Widen<Real>(LoadGlobal(at));
}
template <class Real>
__device__ __forceinline__ void Put(Bf16* at, Real value) {
  StoreGlobal(at, Bf16FromFloat(static_cast<float>(value)));
}
template <class Real>
__device__ __forceinline__ void Put(float* at, Real value) {
  StoreGlobal(at, static_cast<float>(value));
}
template <class Real>
__device__ __forceinline__ void Put(double* at, Real value) {
  StoreGlobal(at, static_cast<double>(value));
}

// The threads that share a row: one warp up to `narrow` columns, else two.
template <int kCols, int kNarrow>
constexpr int kThreadsFor = kCols <= kNarrow ? kWarp : 2 * kWarp;

// For kernels that keep many rows in registers: one warp up to 384 columns, else as many as hold
// eight columns each.
template <int kCols>
constexpr int kThreadsForMany = kCols <= 384 ? kWarp : (kCols / 8 + kWarp - 1) / kWarp* kWarp;

// Columns per group: 16 bytes of the narrower type, alike for both so that columns meet.
template <class X, class V>
constexpr int kGroupFor = sizeof(X) == 2 || sizeof(V) == 2 ? 8 : 4;

// Calls run.template Width<kCols>() for the presets' widths, run.AnyWidth() for the others.
template <class Run>
int DispatchWidth(std::int64_t cols, Run run) {
  switch (cols) {
    case 128:
      return run.template Width<128>();
    case 384:
      return run.template Width<384>();
    case 768:
      return run.template Width<768>();
    case 1024:
      return run.template Width<1024>();
    case 1280:
      return run.template Width<1280>();
    case 1600:
      return run.template Width<1600>();
    case 2048:
      return run.template Width<2048>();
    default:
      return run.AnyWidth();
  }
}

inline bool HasOwnKernel(std::int64_t cols, normlab_dtype stream) {
  if (stream == NORMLAB_F64) return false;
  for (const std::int64_t width : {128, 384, 768, 1024, 1280, 1600, 2048}) {
    if (cols == width) return true;
  }
  return false;
}

// Bytes at which rows, and parameters of a row's width, must start.
inline int AlignmentFor(std::int64_t cols, normlab_dtype stream) {
  return HasOwnKernel(cols, stream) ? static_cast<int>(sizeof(Packet)) : 0;
}

inline int CheckParameter(const char* name, const void* parameter, int alignment) {
  if (alignment == 0 || reinterpret_cast<std::uintptr_t>(parameter) % alignment == 0) {
    return NORMLAB_OK;
  }
  return Fail(std::string(name) + " is misaligned: at this width it must start at a multiple of " +
              std::to_string(alignment) + " bytes");
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_DEVICE_ROWS_CUH_
