// LibTorch's own threads, for what is not one of its operations. Inside a task LibTorch's
// operations run on the task's thread alone.
#ifndef NORMLAB_KERNELS_TORCH_TORCH_THREADS_H_
#define NORMLAB_KERNELS_TORCH_TORCH_THREADS_H_

#include <cstdint>
#include <functional>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// task(0) … task(count − 1), in any order and side by side on as many threads as LibTorch has been
// given; returns when all have ended. An exception of a task is thrown again here.
void OnTorchThreads(std::int64_t count, const std::function<void(std::int64_t)>& task);

// The same for the C interface.
const normlab_executor* TorchExecutor();

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_TORCH_THREADS_H_
