#include "kernels/common/past_caches.h"

#include <atomic>

#include "kernels/common/check_args.h"

namespace normlab::kernels {
namespace {

// A few cores share some 32 MiB of last cache; of a little more, part is still there for who reads
// it next. What the operating system tells is no help: in a virtual machine it may be the cache of
// the whole socket.
constexpr std::int64_t kUsualBytes = std::int64_t{48} << 20;
constexpr std::int64_t kLineBytes = 64;

std::atomic<std::int64_t> from_bytes{kUsualBytes};

std::int64_t BytesOf(std::initializer_list<normlab_matrix> matrices) {
  std::int64_t bytes = 0;
  for (const normlab_matrix& matrix : matrices) {
    if (matrix.data != nullptr) bytes += matrix.rows * matrix.cols * ElementBytes(matrix.dtype);
  }
  return bytes;
}

bool StartsAtLines(const normlab_matrix& matrix) {
  return reinterpret_cast<std::uintptr_t>(matrix.data) % kLineBytes == 0 &&
         matrix.row_stride * ElementBytes(matrix.dtype) % kLineBytes == 0;
}

}  // namespace

bool GoesPastCaches(std::initializer_list<normlab_matrix> inputs,
                    std::initializer_list<normlab_matrix> outputs) {
  if (BytesOf(inputs) + BytesOf(outputs) < from_bytes.load(std::memory_order_relaxed)) return false;
  for (const normlab_matrix& output : outputs) {
    if (output.data != nullptr && !StartsAtLines(output)) return false;
  }
  return true;
}

void SetPastCachesFrom(std::int64_t bytes) {
  from_bytes.store(bytes < 0 ? kUsualBytes : bytes, std::memory_order_relaxed);
}

}  // namespace normlab::kernels
