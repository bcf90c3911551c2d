// How rows are split: into at most 64 tasks whose borders depend on the number of rows alone, so
// that column sums (one partial per task, added in order) do not depend on the threads.
#ifndef NORMLAB_KERNELS_COMMON_TASKS_H_
#define NORMLAB_KERNELS_COMMON_TASKS_H_

#include <cstdint>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

constexpr std::int64_t kMostTasks = 64;
constexpr std::int64_t kLeastRowsPerTask = 16;

inline std::int64_t TaskCount(std::int64_t rows) {
  const std::int64_t count = (rows + kLeastRowsPerTask - 1) / kLeastRowsPerTask;
  return count < kMostTasks ? count : kMostTasks;
}

inline std::int64_t TaskBegin(std::int64_t rows, std::int64_t tasks, std::int64_t index) {
  return rows / tasks * index + (rows % tasks < index ? rows % tasks : index);
}

// Calls body(index) for index in [0, count) on the executor's threads; a null executor means this
// thread.
template <class Body>
void RunTasks(const normlab_executor* executor, std::int64_t count, Body body) {
  if (executor == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  executor->run(
      executor->context, count,
      [](void* argument, std::int64_t index) { (*static_cast<Body*>(argument))(index); }, &body);
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_TASKS_H_
