// How much memory this process may ever have.
#ifndef NORMLAB_MODEL_MEMORY_LIMIT_H_
#define NORMLAB_MODEL_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace normlab::model {

// The machine's memory, or the limit of a control group (container, Slurm job) around us where that
// is lower, in bytes. What others use at the moment does not count: that may change. `root` stands
// before /proc and /sys.
int64_t MemoryLimitBytes(const std::string& root = "");

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_MEMORY_LIMIT_H_
