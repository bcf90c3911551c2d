// A row spread over the threads that own it: kThreads threads (one warp, or the whole block) hold
// kSlots groups of kGroup neighbouring columns each, 16 bytes or more per access. Columns beyond
// the width are zero and are never read or written.
#ifndef NORMLAB_KERNELS_COMMON_REGISTER_ROW_CUH_
#define NORMLAB_KERNELS_COMMON_REGISTER_ROW_CUH_

#include <math.h>

#include "kernels/common/bf16.h"
#include "kernels/common/device.cuh"

namespace normlab::kernels {

// Sixteen bytes, the widest access of a thread.
struct alignas(16) Packet {
  std::uint32_t word[4];
};

template <int kWidth, int kThreadsPerRow, int kColumnsPerGroup>
struct RowLayout {
  static constexpr int kCols = kWidth;
  static constexpr int kThreads = kThreadsPerRow;
  static constexpr int kGroup = kColumnsPerGroup;
  static constexpr int kSlots = (kWidth / kGroup + kThreads - 1) / kThreads;
  static constexpr bool kWhole = kWidth % (kGroup * kThreads) == 0;
  static_assert(kWidth % kGroup == 0, "a row must consist of whole 16-byte groups");
  // Rows that share a block, and the block's size.
  static constexpr int kRowsPerBlock = kThreads == kWarp ? 4 : 1;
  static constexpr int kBlock = kThreads * kRowsPerBlock;
};

template <class Layout>
struct RegisterRow {
  float value[Layout::kSlots][Layout::kGroup];
};

template <class Layout>
__device__ __forceinline__ bool Holds(int slot, int thread) {
  if (Layout::kWhole) return true;
  return (slot * Layout::kThreads + thread) * Layout::kGroup < Layout::kCols;
}

__device__ __forceinline__ void Unpack(const Packet* packets, const float*, int group, float* out) {
  for (int i = 0; i < group; ++i) memcpy(&out[i], &packets[i / 4].word[i % 4], sizeof(float));
}
__device__ __forceinline__ void Unpack(const Packet* packets, const Bf16*, int group, float* out) {
  for (int i = 0; i < group; ++i) {
    const std::uint32_t word = packets[i / 8].word[i % 8 / 2];
    const std::uint32_t bits = i % 2 == 0 ? word << 16 : word & 0xffff0000u;
    memcpy(&out[i], &bits, sizeof(float));
  }
}
__device__ __forceinline__ void Pack(const float* from, const float*, int group, Packet* packets) {
  for (int i = 0; i < group; ++i) memcpy(&packets[i / 4].word[i % 4], &from[i], sizeof(float));
}
__device__ __forceinline__ void Pack(const float* from, const Bf16*, int group, Packet* packets) {
  for (int i = 0; i < group; i += 2) {
    const std::uint32_t low = Bf16FromFloat(from[i]).bits;
    const std::uint32_t high = Bf16FromFloat(from[i + 1]).bits;
    packets[i / 8].word[i % 8 / 2] = low | high << 16;
  }
}

template <class Layout, class Stored>
__device__ __forceinline__ void LoadRow(const Stored* row, int thread, RegisterRow<Layout>* out) {
  constexpr int kPackets = Layout::kGroup * static_cast<int>(sizeof(Stored)) / 16;
#pragma unroll
  for (int slot = 0; slot < Layout::kSlots; ++slot) {
    Packet packets[kPackets] = {};
    if (Holds<Layout>(slot, thread)) {
      const Stored* at = row + (slot * Layout::kThreads + thread) * Layout::kGroup;
#pragma unroll
      for (int i = 0; i < kPackets; ++i) {
        packets[i] = LoadGlobal(reinterpret_cast<const Packet*>(at) + i);
      }
    }
    Unpack(packets, row, Layout::kGroup, out->value[slot]);
  }
}

template <class Layout, class Stored>
__device__ __forceinline__ void StoreRow(Stored* row, int thread, const RegisterRow<Layout>& from) {
  constexpr int kPackets = Layout::kGroup * static_cast<int>(sizeof(Stored)) / 16;
#pragma unroll
  for (int slot = 0; slot < Layout::kSlots; ++slot) {
    if (!Holds<Layout>(slot, thread)) continue;
    Packet packets[kPackets];
    Pack(from.value[slot], row, Layout::kGroup, packets);
    Stored* at = row + (slot * Layout::kThreads + thread) * Layout::kGroup;
#pragma unroll
    for (int i = 0; i < kPackets; ++i) StoreGlobal(reinterpret_cast<Packet*>(at) + i, packets[i]);
  }
}

// Calls body(slot, i) for every column that the thread holds, zero columns included.
template <class Layout, class Body>
__device__ __forceinline__ void EachColumn(Body body) {
#pragma unroll
  for (int slot = 0; slot < Layout::kSlots; ++slot) {
#pragma unroll
    for (int i = 0; i < Layout::kGroup; ++i) body(slot, i);
  }
}

// ---- reductions: every thread of the row gets the result; a fixed tree, so runs agree bit for bit

struct Add {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Maximum {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class T, class Operation>
__device__ __forceinline__ T ReduceWarp(T value, Operation operation) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = operation(value, __shfl_xor_sync(kFullMask, value, distance));
  }
  return value;
}

// kThreads is a warp (no memory involved), or the whole block, which must get here as one.
template <int kThreads, class T, class Operation>
__device__ __forceinline__ T ReduceRow(T value, Operation operation) {
  value = ReduceWarp(value, operation);
  if (kThreads == kWarp) return value;
  constexpr int kWarps = kThreads / kWarp;
  __shared__ T parts[kWarps];
  __syncthreads();  // the values of the reduction before have been read
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = parts[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) value = operation(value, parts[i]);
  return value;
}

// A power of two that brings the row's largest magnitude near 1, and back: products and sums of
// the scaled row neither overflow nor vanish. 1 for rows of zeros and rows that are not finite.
__device__ __forceinline__ float ScaleFor(float largest) {
  if (!(largest > 0.0f) || largest > 3.4028234e38f) return 1.0f;
  int exponent = 0;
  frexpf(largest, &exponent);
  const int bounded = exponent > 125 ? 125 : exponent < -125 ? -125 : exponent;
  return ldexpf(1.0f, -bounded);
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_REGISTER_ROW_CUH_
