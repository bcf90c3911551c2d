#ifndef NORMLAB_CORE_CRC32C_H_
#define NORMLAB_CORE_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace normlab {

// CRC-32C (Castagnoli) of `bytes`. To go on over several pieces, hand in the value so far:
// Crc32c(b, Crc32c(a)) == Crc32c(a ‖ b).
uint32_t Crc32c(std::string_view bytes, uint32_t so_far = 0);

}  // namespace normlab

#endif  // NORMLAB_CORE_CRC32C_H_
