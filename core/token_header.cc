#include "core/token_header.h"

#include <limits>

#include "core/check.h"
#include "core/little_endian.h"
#include "core/strings.h"

namespace normlab {

namespace {

constexpr int32_t kLlmC = 1;
constexpr int32_t kLong = 2;

int32_t Field(std::string_view header, size_t index) {
  return static_cast<int32_t>(GetLittleEndian<uint32_t>(header.data() + 4 * index));
}

}  // namespace

std::string TokenFileHeader(int64_t tokens) {
  CHECK_GE(tokens, 0);
  const bool fits = tokens <= std::numeric_limits<int32_t>::max();
  std::string header;
  PutLittleEndian(header, static_cast<uint32_t>(kTokenFileMagic));
  PutLittleEndian(header, static_cast<uint32_t>(fits ? kLlmC : kLong));
  PutLittleEndian(header, static_cast<uint64_t>(tokens));
  header.resize(kTokenFileHeaderBytes, '\0');
  return header;
}

bool HasTokenFileMagic(std::string_view bytes) {
  return bytes.size() >= 4 && Field(bytes, 0) == kTokenFileMagic;
}

absl::StatusOr<int64_t> TokenCount(std::string_view header, int64_t file_bytes) {
  if (static_cast<int64_t>(header.size()) < kTokenFileHeaderBytes) {
    return InvalidArgument("too short for a token file's header (", file_bytes, " bytes)");
  }
  if (!HasTokenFileMagic(header)) {
    return InvalidArgument("not a token file (magic ", Field(header, 0), "; should be ",
                           kTokenFileMagic, ")");
  }
  const int32_t version = Field(header, 1);
  if (version != kLlmC && version != kLong) {
    return InvalidArgument("a token file of version ", version, "; should be ", kLlmC,
                           " (llm.c's, 16-bit tokens) or ", kLong, " (the same with a long count)");
  }
  const int64_t tokens = version == kLlmC
                             ? Field(header, 2)
                             : static_cast<int64_t>(GetLittleEndian<uint64_t>(header.data() + 8));
  const int64_t there = (file_bytes - kTokenFileHeaderBytes) / 2;
  if (tokens == there && file_bytes % 2 == 0) return tokens;
  return InvalidArgument("its header says ", tokens, " tokens, but the ", file_bytes,
                         " bytes of the file hold ", there,
                         file_bytes % 2 == 0 ? "" : " and half a one");
}

}  // namespace normlab
