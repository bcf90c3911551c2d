// Runs CUDA kernel bodies on the host, thread by thread, without a GPU.
//
// Each CUDA thread is a fiber; blocks run one after the other, and warp after warp runs to the next
// barrier of its block, in odd blocks in reverse order. __syncthreads, __syncwarp, the shuffles and
// shared memory have their real meaning, so that a missing barrier, a barrier that not all threads
// reach, or a shuffle with an exited lane shows.
// Global memory goes through Load and Store, which know the buffers that exist: an access outside
// them, or a misaligned one, is a fault. A fault ends the launch with a sentence.
#ifndef NORMLAB_KERNELS_TESTING_SIMT_H_
#define NORMLAB_KERNELS_TESTING_SIMT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

// The names are CUDA's.
// NOLINTBEGIN(bugprone-reserved-identifier)
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
// Blocks run one at a time on one thread, so what is static is shared by exactly one block.
#define __shared__ static
#define __launch_bounds__(...)
// NOLINTEND(bugprone-reserved-identifier)

namespace normlab::kernels::simt {

struct Index {
  unsigned x = 0;
};
struct Coordinates {
  Index thread, block, block_size, grid_size;
};
// Of the fiber that runs now.
const Coordinates& Here();

// Runs every thread of every block; empty on success, else what went wrong and where.
std::string Launch(unsigned blocks, unsigned threads, const std::function<void()>& body);

// While it lives, [data, data + bytes) may be read and written by kernels.
class Buffer {
 public:
  Buffer(const void* data, std::int64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  const void* data_;
};

void CheckAccess(const void* address, std::size_t bytes, std::size_t alignment);
void SyncThreads();
// All lanes of the mask meet; each brings 8 bytes and takes those of lane `from`.
std::uint64_t Exchange(unsigned mask, std::uint64_t value, unsigned from);
// The lane of the fiber that runs now.
unsigned Lane();

template <class T>
T Load(const T* from) {
  CheckAccess(from, sizeof(T), alignof(T));
  return *from;
}
template <class T>
void Store(T* to, const T& value) {
  CheckAccess(to, sizeof(T), alignof(T));
  *to = value;
}

}  // namespace normlab::kernels::simt

#define threadIdx (::normlab::kernels::simt::Here().thread)
#define blockIdx (::normlab::kernels::simt::Here().block)
#define blockDim (::normlab::kernels::simt::Here().block_size)
#define gridDim (::normlab::kernels::simt::Here().grid_size)

namespace normlab::kernels {

// NOLINTBEGIN(bugprone-reserved-identifier)
inline void __syncthreads() { simt::SyncThreads(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { simt::Exchange(mask, 0, simt::Lane()); }

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = simt::Exchange(mask, bits, simt::Lane() ^ static_cast<unsigned>(lane_mask));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// NOLINTEND(bugprone-reserved-identifier)

inline unsigned long long atomicAdd(unsigned long long* to, unsigned long long value) {
  const unsigned long long before = simt::Load(to);
  simt::Store(to, before + value);
  return before;
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TESTING_SIMT_H_
