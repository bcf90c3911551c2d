#include "cli/tokenizer/text_reader.h"

#include <algorithm>
#include <stdexcept>

namespace normlab::tokenizer {

namespace {

constexpr int64_t kReadBytes = 1 << 20;
constexpr int64_t kStretch = 1 << 20;

bool ContinuesCharacter(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

}  // namespace

bool LineReader::Next(std::string& line) {
  for (;;) {
    const size_t there = buffer_.size() - start_;
    const size_t end = buffer_.find('\n', start_);
    if (end != std::string::npos && end - start_ < kLongestLine) {
      line.assign(buffer_, start_, end + 1 - start_);
    } else if (there > kLongestLine) {
      line.assign(buffer_, start_, PieceLength());
    } else if (unread_ > 0 || there == 0) {
      if (!Fill()) return false;
      continue;
    } else {
      line.assign(buffer_, start_, there);  // the end of a file, without a line end
    }
    start_ += line.size();
    return true;
  }
}

// How much of a long line to hand out.
size_t LineReader::PieceLength() const {
  const size_t space = buffer_.rfind(' ', start_ + kLongestLine - 1);
  if (space != std::string::npos && space > start_) return space + 1 - start_;
  size_t length = kLongestLine;
  // A character has at most three bytes that continue it; more is no text.
  for (int i = 0; i < 3 && ContinuesCharacter(buffer_[start_ + length]); ++i) --length;
  return length;
}

// Reads on; false when nothing is left.
bool LineReader::Fill() {
  buffer_.erase(0, start_);
  start_ = 0;
  if (unread_ == 0) {
    if (span_ == spans_.size()) return false;
    const Span& span = spans_[span_++];
    file_ = std::ifstream(span.path, std::ios::binary);
    file_.seekg(span.first);
    if (!file_) throw std::runtime_error(span.path + ": cannot be read");
    unread_ = span.last - span.first;
    return true;
  }
  const auto count = static_cast<size_t>(std::min(unread_, kReadBytes));
  const size_t before = buffer_.size();
  buffer_.resize(before + count);
  if (!file_.read(buffer_.data() + before, static_cast<std::streamsize>(count))) {
    throw std::runtime_error(spans_[span_ - 1].path + ": became shorter while it was read");
  }
  unread_ -= static_cast<int64_t>(count);
  return true;
}

std::vector<Span> Sample(const std::vector<Span>& spans, int64_t limit) {
  int64_t total = 0;
  for (const Span& span : spans) total += span.last - span.first;
  if (total <= limit) return spans;
  const int64_t count = std::max<int64_t>(1, limit / kStretch);
  std::vector<Span> sample;
  int64_t before = 0;  // bytes of the spans before this one
  int64_t next = 0;    // stretch
  for (const Span& span : spans) {
    const int64_t bytes = span.last - span.first;
    for (; next < count; ++next) {
      const int64_t place = next * (total / count) - before;
      if (place >= bytes) break;
      const int64_t first = span.first + std::max<int64_t>(0, place);
      sample.push_back({span.path, first, std::min(first + kStretch, span.last)});
    }
    before += bytes;
  }
  return sample;
}

}  // namespace normlab::tokenizer
