#include "core/text_encoder.h"

#include <fcntl.h>

#include <algorithm>

#include "core/file.h"
#include "core/status.h"

namespace normlab {

namespace {

constexpr int64_t kTokensPerValToken = 20;  // 5 %
constexpr int64_t kLookBack = 64 << 10;

bool ContinuesCharacter(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

// The place in the file, at or before `wanted`, where a cut does least harm.
absl::StatusOr<int64_t> GentleCut(const std::string& path, int64_t wanted) {
  ASSIGN_OR_RETURN(const Fd fd, OpenFd(path, O_RDONLY));
  const int64_t from = std::max<int64_t>(0, wanted - kLookBack);
  // One byte more than lies before the cut: it tells whether the cut is inside a character.
  ASSIGN_OR_RETURN(const std::string text, ReadAt(fd.get(), static_cast<uint64_t>(from),
                                                  static_cast<size_t>(wanted - from + 1)));
  const auto before = std::min(static_cast<size_t>(wanted - from), text.size());
  const size_t line_end = text.substr(0, before).rfind('\n');
  if (line_end != std::string::npos) return from + static_cast<int64_t>(line_end) + 1;
  size_t cut = before;
  while (cut > 0 && cut < text.size() && ContinuesCharacter(text[cut])) --cut;
  return from + static_cast<int64_t>(cut);
}

}  // namespace

int64_t BytesOf(const std::vector<TextSpan>& spans) {
  int64_t bytes = 0;
  for (const TextSpan& span : spans) bytes += span.bytes();
  return bytes;
}

absl::StatusOr<TextSplit> SplitText(const std::vector<TextSpan>& files) {
  const int64_t total = BytesOf(files);
  int64_t left = total - total / kTokensPerValToken;  // still to go to `train`
  TextSplit split;
  for (const TextSpan& file : files) {
    int64_t cut = file.last;
    if (left < file.bytes()) {
      cut = file.first;
      if (left > 0) {
        ASSIGN_OR_RETURN(cut, GentleCut(file.path, file.first + left));
      }
    }
    cut = std::max(cut, file.first);
    if (cut > file.first) split.train.push_back({file.path, file.first, cut});
    if (cut < file.last) split.val.push_back({file.path, cut, file.last});
    left = cut < file.last ? 0 : left - file.bytes();
  }
  return split;
}

}  // namespace normlab
