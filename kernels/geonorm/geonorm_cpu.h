// GeoNorm over a range of rows, compiled once per instruction set. Arguments are checked before.
#ifndef NORMLAB_KERNELS_GEONORM_GEONORM_CPU_H_
#define NORMLAB_KERNELS_GEONORM_GEONORM_CPU_H_

#include <cstdint>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

struct GeoNormRows {
  // Returns how many of the rows [begin, end) are zero. past: whether results are written past the
  // caches (past_caches.h).
  std::int64_t (*forward)(const normlab_geonorm_options& options,
                          const normlab_geonorm_forward_args& args, std::int64_t begin,
                          std::int64_t end, bool past);
  // Adds dL/d(alpha, scale, bias) of the rows to dangle[3], unless it is null.
  void (*backward)(const normlab_geonorm_options& options,
                   const normlab_geonorm_backward_args& args, std::int64_t begin, std::int64_t end,
                   bool past, double* dangle);
};

namespace portable {
extern const GeoNormRows kGeoNormRows;
}
namespace avx2 {
extern const GeoNormRows kGeoNormRows;
}
namespace avx512 {
extern const GeoNormRows kGeoNormRows;
}
namespace avx512_bf16 {
extern const GeoNormRows kGeoNormRows;
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_CPU_H_
