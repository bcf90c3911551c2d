// How rows are handed to blocks, which widths have kernels of their own, and the types that rows
// are stored in.
#ifndef NORMLAB_KERNELS_COMMON_DEVICE_ROWS_CUH_
#define NORMLAB_KERNELS_COMMON_DEVICE_ROWS_CUH_

#include <string>

#include "kernels/common/register_row.cuh"
#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Blocks stride over the rows. Their number depends on nothing but the rows and the layout, so that
// partial sums are the same on every device. 2112 warps are sixteen for each of 132
// multiprocessors: enough rows on their way to hide the memory's latency, and few enough partials.
constexpr std::int64_t kMostWarps = 2112;

// Threads of a block of the kernels for any width.
constexpr int kAnyWidthBlock = 128;

inline std::int64_t BlocksFor(std::int64_t rows, int rows_per_block, int threads) {
  const std::int64_t wanted = (rows + rows_per_block - 1) / rows_per_block;
  const std::int64_t most = kMostWarps / (threads / kWarp);
  return wanted < most ? wanted : most;
}
template <class Layout>
std::int64_t BlocksFor(std::int64_t rows) {
  return BlocksFor(rows, Layout::kRowsPerBlock, Layout::kBlock);
}
inline std::int64_t AnyWidthBlocksFor(std::int64_t rows) {
  return BlocksFor(rows, 1, kAnyWidthBlock);
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

// What a pair of matrices is computed in and stored as.
template <class R, class S, class B>
struct Types {
  using Real = R;
  using Stream = S;
  using Branch = B;
};

// Calls run(Types<...>()) for a pair that CheckTypePair lets through.
template <class Run>
int DispatchTypes(normlab_dtype stream, normlab_dtype branch, Run run) {
  if (stream == NORMLAB_F64) return run(Types<double, double, double>());
  if (stream == NORMLAB_BF16) return run(Types<float, Bf16, Bf16>());
  if (branch == NORMLAB_BF16) return run(Types<float, float, Bf16>());
  return run(Types<float, float, float>());
}

// Calls run.template Width<kCols>() for the presets' widths, run.AnyWidth() for the others.
template <class Run>
auto DispatchWidth(std::int64_t cols, Run run) {
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
    case 1536:
      return run.template Width<1536>();
    case 1600:
      return run.template Width<1600>();
    case 2048:
      return run.template Width<2048>();
    default:
      return run.AnyWidth();
  }
}

// The same for a pair of types: in fp64 every width is one of the others.
template <class Pair, class Run>
auto DispatchWidthOf(std::int64_t cols, Run run) {
  if constexpr (sizeof(typename Pair::Real) == sizeof(double)) {
    return run.AnyWidth();
  } else {
    return DispatchWidth(cols, run);
  }
}

// Bytes at which rows, and parameters of a row's width, must start; 0 where any will do.
struct Alignment {
  template <int kCols>
  int Width() const {
    return static_cast<int>(sizeof(Packet));
  }
  int AnyWidth() const { return 0; }
};
inline int AlignmentFor(std::int64_t cols, normlab_dtype stream) {
  return stream == NORMLAB_F64 ? 0 : DispatchWidth(cols, Alignment{});
}

inline int CheckParameter(const char* name, const void* parameter, int alignment) {
  if (alignment == 0 || reinterpret_cast<std::uintptr_t>(parameter) % alignment == 0) {
    return NORMLAB_OK;
  }
  return Fail(std::string(name) + " is misaligned: at this width it must start at a multiple of " +
              std::to_string(alignment) + " bytes");
}

// A number of eight bytes that kernels write.
inline int CheckNumber(const char* name, const void* number) {
  if (reinterpret_cast<std::uintptr_t>(number) % 8 == 0) return NORMLAB_OK;
  return Fail(std::string(name) + " is misaligned: it must start at a multiple of 8 bytes");
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_DEVICE_ROWS_CUH_
