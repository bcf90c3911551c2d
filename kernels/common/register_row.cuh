// A row spread over the threads that own it: kThreads threads (one warp, or the whole block) hold
// kSlots groups of kGroup neighbouring columns each, 16 bytes per access. Columns beyond the width
// are zero and are never read or written.
#ifndef NORMLAB_KERNELS_COMMON_REGISTER_ROW_CUH_
#define NORMLAB_KERNELS_COMMON_REGISTER_ROW_CUH_

#include <math.h>

#include "kernels/common/bf16.h"
#include "kernels/common/device.cuh"

namespace normlab::kernels {

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

// The kGroup columns in packets, and back.
template <int kGroup>
__device__ __forceinline__ void Unpack(const Packet* packets, const float*, float* out) {
#pragma unroll
  for (int i = 0; i < kGroup; ++i) memcpy(&out[i], &packets[i / 4].word[i % 4], sizeof(float));
}
template <int kGroup>
__device__ __forceinline__ void Unpack(const Packet* packets, const Bf16*, float* out) {
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    const std::uint32_t word = packets[i / 8].word[i % 8 / 2];
    const std::uint32_t bits = i % 2 == 0 ? word << 16 : word & 0xffff0000u;
    memcpy(&out[i], &bits, sizeof(float));
  }
}
template <int kGroup>
__device__ __forceinline__ void Pack(const float* from, const float*, Packet* packets) {
#pragma unroll
  for (int i = 0; i < kGroup; ++i) memcpy(&packets[i / 4].word[i % 4], &from[i], sizeof(float));
}
template <int kGroup>
__device__ __forceinline__ void Pack(const float* from, const Bf16*, Packet* packets) {
#pragma unroll
  for (int i = 0; i < kGroup; i += 2) {
    const std::uint32_t low = Bf16FromFloat(from[i]).bits;
    const std::uint32_t high = Bf16FromFloat(from[i + 1]).bits;
    packets[i / 8].word[i % 8 / 2] = low | high << 16;
  }
}

// kOnce: nobody reads the row again soon. The output of a forward pass is not of that kind (the
// next matrix product finds it in the L2 cache), the inputs of a backward pass are.
template <bool kOnce = false, class Layout, class Stored>
__device__ __forceinline__ void LoadRow(const Stored* row, int thread, RegisterRow<Layout>* out) {
  constexpr int kPackets = Layout::kGroup * static_cast<int>(sizeof(Stored)) / 16;
#pragma unroll
  for (int slot = 0; slot < Layout::kSlots; ++slot) {
    Packet packets[kPackets] = {};
    if (Holds<Layout>(slot, thread)) {
      const Stored* at = row + (slot * Layout::kThreads + thread) * Layout::kGroup;
#pragma unroll
      for (int i = 0; i < kPackets; ++i) {
        const Packet* packet = reinterpret_cast<const Packet*>(at) + i;
        packets[i] = kOnce ? LoadOnce(packet) : LoadGlobal(packet);
      }
    }
    Unpack<Layout::kGroup>(packets, row, out->value[slot]);
  }
}

template <class Layout, class Stored>
__device__ __forceinline__ void StoreRow(Stored* row, int thread, const RegisterRow<Layout>& from) {
  constexpr int kPackets = Layout::kGroup * static_cast<int>(sizeof(Stored)) / 16;
#pragma unroll
  for (int slot = 0; slot < Layout::kSlots; ++slot) {
    if (!Holds<Layout>(slot, thread)) continue;
    Packet packets[kPackets];
    Pack<Layout::kGroup>(from.value[slot], row, packets);
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

// A parameter of the row's width; a null one is `otherwise` everywhere.
template <class Layout>
__device__ __forceinline__ void LoadParameter(const void* parameter, int thread, float otherwise,
                                              RegisterRow<Layout>* out) {
  if (parameter != nullptr) return LoadRow(static_cast<const float*>(parameter), thread, out);
  EachColumn<Layout>([&](int s, int i) { out->value[s][i] = otherwise; });
}

// What a row becomes by being stored as Stored and read again.
template <class Stored, class Layout>
__device__ __forceinline__ void RoundTo(RegisterRow<Layout>* row) {
  if (sizeof(Stored) != sizeof(Bf16)) return;
  EachColumn<Layout>(
      [&](int s, int i) { row->value[s][i] = Bf16ToFloat(Bf16FromFloat(row->value[s][i])); });
}

template <class Layout>
__device__ __forceinline__ void ScaleBy(float factor, RegisterRow<Layout>* row) {
  EachColumn<Layout>([&](int s, int i) { row->value[s][i] *= factor; });
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

// kThreads is a warp (no memory involved), or the whole block, which must get here as one. Several
// values at once share the two barriers.
template <int kThreads, int kCount, class T, class Operation>
__device__ __forceinline__ void ReduceRows(T (&values)[kCount], Operation operation) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) values[k] = ReduceWarp(values[k], operation);
  if constexpr (kThreads > kWarp) {
    constexpr int kWarps = kThreads / kWarp;
    __shared__ T parts[kCount][kWarps];
    __syncthreads();  // the values of the reduction before have been read
    if (threadIdx.x % kWarp == 0) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) parts[k][threadIdx.x / kWarp] = values[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      values[k] = parts[k][0];
#pragma unroll
      for (int i = 1; i < kWarps; ++i) values[k] = operation(values[k], parts[k][i]);
    }
  }
}

template <int kThreads, class T, class Operation>
__device__ __forceinline__ T ReduceRow(T value, Operation operation) {
  T values[1] = {value};
  ReduceRows<kThreads>(values, operation);
  return values[0];
}

template <class Layout>
__device__ __forceinline__ float Largest(const RegisterRow<Layout>& row) {
  float largest = 0;
  EachColumn<Layout>([&](int s, int i) { largest = Maximum{}(largest, fabsf(row.value[s][i])); });
  return ReduceRow<Layout::kThreads>(largest, Maximum{});
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
