#ifndef NORMLAB_CORE_SHA256_H_
#define NORMLAB_CORE_SHA256_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace normlab {

// SHA-256 (FIPS 180-4) over bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void Update(std::string_view bytes);
  // 64 lower-case hex digits. Ends this computation: only a new object may go on.
  std::string HexDigest();

 private:
  void Block(const uint8_t* bytes);
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> buffer_;
  uint64_t size_ = 0;  // bytes so far
};

std::string Sha256Hex(std::string_view bytes);

// Streams the file. NotFound, PermissionDenied … when it cannot be read.
absl::StatusOr<std::string> Sha256File(const std::string& path);

}  // namespace normlab

#endif  // NORMLAB_CORE_SHA256_H_
