// bf16 as a storage type: the upper half of an fp32, rounded to nearest even on the way in.
#ifndef NORMLAB_KERNELS_COMMON_BF16_H_
#define NORMLAB_KERNELS_COMMON_BF16_H_

#include <string.h>

#include <cstdint>

#if defined(__CUDACC__)
#define NORMLAB_HD __host__ __device__
#else
#define NORMLAB_HD
#endif

namespace normlab::kernels {

struct Bf16 {
  std::uint16_t bits;
};

NORMLAB_HD static inline float Bf16ToFloat(Bf16 value) {
  const std::uint32_t wide = static_cast<std::uint32_t>(value.bits) << 16;
  float result;
  memcpy(&result, &wide, sizeof(result));
  return result;
}

// NaN stays NaN (quiet, sign and upper payload kept); values beyond the largest bf16 become Inf.
NORMLAB_HD static inline Bf16 Bf16FromFloat(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if (value != value) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_BF16_H_
