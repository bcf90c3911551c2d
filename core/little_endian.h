#ifndef NORMLAB_CORE_LITTLE_ENDIAN_H_
#define NORMLAB_CORE_LITTLE_ENDIAN_H_

#include <concepts>
#include <cstdint>
#include <string>

namespace normlab {

// Unsigned numbers as bytes, lowest first, whatever the machine.

template <std::unsigned_integral T>
void PutLittleEndian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i));
}

// Reads sizeof(T) bytes at `bytes`.
template <std::unsigned_integral T>
T GetLittleEndian(const char* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(static_cast<uint8_t>(bytes[i])) << (8 * i));
  }
  return value;
}

}  // namespace normlab

#endif  // NORMLAB_CORE_LITTLE_ENDIAN_H_
