// The header of a token file, in the two layouts that there are.
//
// llm.c's: 256 little-endian int32: magic 20240520, version 1, number of tokens, zeros. A count
// that an int32 cannot say (OpenWebText has nine billion tokens) is version 2, which is ours:
// fields 2 and 3 hold it as one little-endian int64.
#ifndef NORMLAB_CORE_TOKEN_HEADER_H_
#define NORMLAB_CORE_TOKEN_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace normlab {

inline constexpr int32_t kTokenFileMagic = 20240520;
inline constexpr int64_t kTokenFileHeaderBytes = 1024;

// The header of `tokens` ≥ 0 tokens.
std::string TokenFileHeader(int64_t tokens);

// Whether `bytes` begin with the magic number.
bool HasTokenFileMagic(std::string_view bytes);

// How many tokens follow a header, given all the bytes of the file that there are up to
// kTokenFileHeaderBytes and the size of the file. InvalidArgument in half a line ("its header says
// 100 tokens (1224 bytes), but the file has 900 bytes") for a header that is cut, of an unknown
// version, or lies.
absl::StatusOr<int64_t> TokenCount(std::string_view header, int64_t file_bytes);

}  // namespace normlab

#endif  // NORMLAB_CORE_TOKEN_HEADER_H_
