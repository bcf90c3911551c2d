#include "core/token_input.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/little_endian.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/token_header.h"

namespace normlab {

absl::StatusOr<TokenInput> TokenInput::Open(const std::string& path) {
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_RDONLY));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path, ": not a regular file");
  if (info.st_size == 0) return InvalidArgument(path, ": the file is empty");
  TokenInput input(path, std::move(fd));
  input.tokens_ = info.st_size;
  if (path.ends_with(".bin")) RETURN_IF_ERROR(input.ReadHeader(info.st_size));
  return input;
}

absl::Status TokenInput::ReadHeader(int64_t size) {
  ASSIGN_OR_RETURN(const std::string header, ReadAt(fd_.get(), 0, kTokenFileHeaderBytes));
  // The magic's first half would be token 55432, which GPT-2's vocabulary does not have.
  if (!HasTokenFileMagic(header)) {
    kind_ = Kind::kNanoGpt;
    tokens_ = size / 2;
    if (size % 2 == 0) return absl::OkStatus();
    return InvalidArgument(path_, ": ", size,
                           " bytes are no whole number of 16-bit tokens; is the file cut short?");
  }
  kind_ = Kind::kLlmC;
  header_bytes_ = kTokenFileHeaderBytes;
  const auto tokens = TokenCount(header, size);
  if (!tokens.ok()) return AddContext(tokens.status(), path_);
  tokens_ = *tokens;
  if (tokens_ > 0) return absl::OkStatus();
  return InvalidArgument(path_, ": its header says that it has no tokens");
}

absl::StatusOr<std::vector<uint16_t>> TokenInput::Next(int64_t max_tokens) {
  const int64_t count = std::min(max_tokens, tokens_ - position_);
  const auto wanted = static_cast<size_t>(count * token_bytes());
  ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadAt(fd_.get(), static_cast<uint64_t>(header_bytes_ + position_ * token_bytes()), wanted));
  if (bytes.size() < wanted) return DataLoss(path_, ": became shorter while it was read");
  std::vector<uint16_t> tokens(static_cast<size_t>(count));
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = is_text() ? static_cast<uint8_t>(bytes[i])
                          : GetLittleEndian<uint16_t>(bytes.data() + 2 * i);
  }
  position_ += count;
  return tokens;
}

}  // namespace normlab
