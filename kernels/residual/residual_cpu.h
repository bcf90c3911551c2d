// Residual updates over a range of rows, compiled once per instruction set. Arguments are checked
// before.
#ifndef NORMLAB_KERNELS_RESIDUAL_RESIDUAL_CPU_H_
#define NORMLAB_KERNELS_RESIDUAL_RESIDUAL_CPU_H_

#include <cstdint>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Column sums of a backward pass, in the order in which they lie in a task's partials.
enum ResidualSum {
  kBranchGain,
  kBranchBias,
  kPostGain,
  kPostBias,
  kNextGain,
  kNextBias,
  kBranchFactor,
  kResidualSums
};

struct ResidualRows {
  // past: whether results are written past the caches (past_caches.h); scratch: Real[3][cols] of
  // this task.
  void (*forward)(const normlab_residual_form& form, const normlab_residual_forward_args& args,
                  std::int64_t begin, std::int64_t end, bool past, void* scratch);
  // scratch: Real[3][cols]; sums: kResidualSums pointers to Real[cols], null where not wanted;
  // db: the rows' part of dL/db, or null.
  void (*backward)(const normlab_residual_form& form, const normlab_residual_backward_args& args,
                   std::int64_t begin, std::int64_t end, bool past, void* scratch,
                   void* const* sums, double* db);
};

namespace portable {
extern const ResidualRows kResidualRows;
}
namespace avx2 {
extern const ResidualRows kResidualRows;
}
namespace avx512 {
extern const ResidualRows kResidualRows;
}
namespace avx512_bf16 {
extern const ResidualRows kResidualRows;
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_RESIDUAL_RESIDUAL_CPU_H_
