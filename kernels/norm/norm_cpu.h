// LayerNorm and RMSNorm over a range of rows, compiled once per instruction set. Arguments are
// checked before.
#ifndef NORMLAB_KERNELS_NORM_NORM_CPU_H_
#define NORMLAB_KERNELS_NORM_NORM_CPU_H_

#include <cstdint>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

struct NormRows {
  // past: whether results are written past the caches (past_caches.h).
  void (*forward)(const normlab_norm_options& options, const normlab_norm_forward_args& args,
                  std::int64_t begin, std::int64_t end, bool past);
  // dgain and dbias, Real[cols] each or null, take the column sums of these rows.
  void (*backward)(const normlab_norm_options& options, const normlab_norm_backward_args& args,
                   std::int64_t begin, std::int64_t end, bool past, void* dgain, void* dbias);
};

namespace portable {
extern const NormRows kNormRows;
}
namespace avx2 {
extern const NormRows kNormRows;
}
namespace avx512 {
extern const NormRows kNormRows;
}
namespace avx512_bf16 {
extern const NormRows kNormRows;
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_NORM_NORM_CPU_H_
