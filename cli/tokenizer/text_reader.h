// Reads stretches of text files line by line, in constant memory.
#ifndef NORMLAB_CLI_TOKENIZER_TEXT_READER_H_
#define NORMLAB_CLI_TOKENIZER_TEXT_READER_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace normlab::tokenizer {

// Bytes [first, last) of a file.
struct Span {
  std::string path;
  int64_t first = 0;
  int64_t last = 0;
};

// Lines longer than this come in pieces.
inline constexpr size_t kLongestLine = 16 << 10;

class LineReader {
 public:
  explicit LineReader(std::vector<Span> spans) : spans_(std::move(spans)) {}

  // The next line with its '\n', which the last one of a file may lack; a long line in pieces that
  // end behind a space or, without one, between characters. False at the end of the last span.
  // Throws when a file cannot be read or has become shorter.
  bool Next(std::string& line);

 private:
  bool Fill();
  size_t PieceLength() const;

  std::vector<Span> spans_;
  size_t span_ = 0;
  int64_t unread_ = 0;  // bytes of the current span not yet in buffer_
  bool open_ = false;
  std::ifstream file_;
  std::string buffer_;
  size_t start_ = 0;  // of what was not handed out yet
};

// At most `limit` bytes of the spans: all, or stretches of 1 MiB spread evenly over them.
std::vector<Span> Sample(const std::vector<Span>& spans, int64_t limit);

}  // namespace normlab::tokenizer

#endif  // NORMLAB_CLI_TOKENIZER_TEXT_READER_H_
