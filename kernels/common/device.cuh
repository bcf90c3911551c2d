// What the .cu files use of CUDA, so that the same bodies also compile with the host compiler and
// run under the SIMT harness (NORMLAB_SIMT): global memory is read and written through LoadGlobal
// and StoreGlobal, kernels are started through Launch, names of C functions are made by
// NORMLAB_DEVICE.
//
// Both compilers are told not to contract a·b + c into one rounding: two kernels that hold the same
// expression then give the same bits, whatever stands around it, and the harness gives those of a
// GPU. MultiplyAdd is for where one rounding is meant.
#ifndef NORMLAB_KERNELS_COMMON_DEVICE_CUH_
#define NORMLAB_KERNELS_COMMON_DEVICE_CUH_

#include <math.h>

#include <cstdint>

#include "kernels/common/check_args.h"

#if defined(NORMLAB_SIMT)
#include "kernels/testing/simt.h"
#define NORMLAB_DEVICE(name) normlab_simt_##name
#else
#include <cuda_runtime.h>
#define NORMLAB_DEVICE(name) normlab_cuda_##name
#endif

namespace normlab::kernels {

constexpr int kWarp = 32;
constexpr unsigned kFullMask = 0xffffffffu;

// Sixteen bytes, the widest access of a thread.
struct alignas(16) Packet {
  std::uint32_t word[4];
};

#if defined(NORMLAB_SIMT)

template <class T>
T LoadGlobal(const T* from) {
  return simt::Load(from);
}
inline Packet LoadOnce(const Packet* from) { return simt::Load(from); }
template <class T>
void StoreGlobal(T* to, const T& value) {
  simt::Store(to, value);
}

template <class... Parameters, class... Arguments>
int Launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads, void*,
           Arguments... arguments) {
  if (blocks == 0) return NORMLAB_OK;
  const std::string fault = simt::Launch(
      static_cast<unsigned>(blocks), static_cast<unsigned>(threads), [&] { kernel(arguments...); });
  return fault.empty() ? NORMLAB_OK : FailOnDevice(fault);
}

#else

template <class T>
__device__ __forceinline__ T LoadGlobal(const T* from) {
  return *from;
}
// For what nobody reads again soon: leaves the caches to others.
__device__ __forceinline__ Packet LoadOnce(const Packet* from) {
  const uint4 loaded = __ldcs(reinterpret_cast<const uint4*>(from));
  return {{loaded.x, loaded.y, loaded.z, loaded.w}};
}
template <class T>
__device__ __forceinline__ void StoreGlobal(T* to, const T& value) {
  *to = value;
}

// Returns NORMLAB_DEVICE_ERROR with the runtime's sentence when the launch is refused. Never waits.
template <class... Parameters, class... Arguments>
int Launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads, void* stream,
           Arguments... arguments) {
  if (blocks == 0) return NORMLAB_OK;
  const auto queue = static_cast<cudaStream_t>(stream);
  const auto grid = static_cast<unsigned>(blocks), block = static_cast<unsigned>(threads);
  // clang-format off
  kernel<<<grid, block, 0, queue>>>(arguments...);  // the formatter takes <<<>>> apart
  // clang-format on
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? NORMLAB_OK : FailOnDevice(cudaGetErrorString(error));
}

#endif

// a·b + c, rounded once.
__device__ __forceinline__ float MultiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_DEVICE_CUH_
