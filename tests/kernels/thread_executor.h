// An executor of the C interface with threads of its own.
#ifndef NORMLAB_TESTS_KERNELS_THREAD_EXECUTOR_H_
#define NORMLAB_TESTS_KERNELS_THREAD_EXECUTOR_H_

#include <cstdint>
#include <thread>
#include <vector>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Task i runs on thread i modulo `threads`.
class ThreadExecutor {
 public:
  explicit ThreadExecutor(int threads) : threads_(threads), executor_{&Run, this} {}
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  const normlab_executor* get() const { return &executor_; }

 private:
  static void Run(void* context, std::int64_t count, void (*task)(void*, std::int64_t),
                  void* argument) {
    const int threads = static_cast<ThreadExecutor*>(context)->threads_;
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([=] {
        for (std::int64_t i = t; i < count; i += threads) task(argument, i);
      });
    }
    for (std::thread& thread : pool) thread.join();
  }

  int threads_;
  normlab_executor executor_;
};

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_THREAD_EXECUTOR_H_
