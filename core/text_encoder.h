#ifndef NORMLAB_CORE_TEXT_ENCODER_H_
#define NORMLAB_CORE_TEXT_ENCODER_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace normlab {

// Bytes [first, last) of a text file.
struct TextSpan {
  std::string path;
  int64_t first = 0;
  int64_t last = 0;
  int64_t bytes() const { return last - first; }
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

int64_t BytesOf(const std::vector<TextSpan>& spans);

struct TextSplit {
  std::vector<TextSpan> train, val;
};

// Cuts texts, read as one after the other, in two: the last twentieth of their bytes is `val`. The
// cut falls behind a line's end, or, where the last 64 KiB before it have none, between characters.
absl::StatusOr<TextSplit> SplitText(const std::vector<TextSpan>& files);

// What turns text into tokens that are no bytes. An interface, since no tokenizer's library belongs
// into core; its one implementation is cli/sentence_piece.h.
class TextEncoder {
 public:
  // Some tokens, and how many bytes of text they were.
  using Take = std::function<absl::Status(std::span<const uint16_t> tokens, int64_t text_bytes)>;

  virtual ~TextEncoder() = default;

  // Gets ready: learns a vocabulary from the training text, unless one is there. The others come
  // after it.
  virtual absl::Status Prepare(const std::vector<TextSpan>& training) = 0;
  virtual int64_t vocab() const = 0;  // at most 65,536

  // Tokens of the spans, in order, a piece at a time, in constant memory.
  virtual absl::Status Encode(const std::vector<TextSpan>& spans, const Take& take) = 0;

  // Leaves in `dir` what decoding needs; returns what tokenizer.json is to say.
  virtual absl::StatusOr<nlohmann::json> Keep(const std::string& dir) const = 0;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_TEXT_ENCODER_H_
