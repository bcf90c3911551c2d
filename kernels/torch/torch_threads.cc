#include "kernels/torch/torch_threads.h"

#include <ATen/Parallel.h>

namespace normlab::kernels {
namespace {

void RunOnTorchThreads(void*, std::int64_t count, void (*task)(void*, std::int64_t),
                       void* argument) {
  OnTorchThreads(count, [&](std::int64_t i) { task(argument, i); });
}

}  // namespace

void OnTorchThreads(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) task(i);
  });
}

const normlab_executor* TorchExecutor() {
  static const normlab_executor executor{&RunOnTorchThreads, nullptr};
  return &executor;
}

}  // namespace normlab::kernels
