#include "core/crc32c.h"

#include <array>

namespace normlab {

namespace {

// Eight tables: table[k][b] is the remainder of byte b followed by k zero bytes, so that eight
// bytes are taken in one step.
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0u);
    tables[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (int k = 1; k < 8; ++k) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr auto kTables = MakeTables();

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t so_far) {
  uint32_t crc = ~so_far;
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    crc = kTables[7][(crc ^ p[0]) & 255] ^ kTables[6][((crc >> 8) ^ p[1]) & 255] ^
          kTables[5][((crc >> 16) ^ p[2]) & 255] ^ kTables[4][(crc >> 24) ^ p[3]] ^
          kTables[3][p[4]] ^ kTables[2][p[5]] ^ kTables[1][p[6]] ^ kTables[0][p[7]];
  }
  for (; left > 0; --left, ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 255];
  return ~crc;
}

}  // namespace normlab
