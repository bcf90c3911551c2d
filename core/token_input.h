#ifndef NORMLAB_CORE_TOKEN_INPUT_H_
#define NORMLAB_CORE_TOKEN_INPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/file.h"

namespace normlab {

// One file that somebody wants to train on, as a stream of tokens.
class TokenInput {
 public:
  enum class Kind {
    kText,     // every byte is a token
    kNanoGpt,  // bare little-endian uint16
    kLlmC,     // the same behind a header (token_header.h)
  };

  // By name (".bin" holds tokens, anything else is text) and, of token files, by llm.c's magic. One
  // line for a file that is not there, empty, of odd length, or whose header lies.
  static absl::StatusOr<TokenInput> Open(const std::string& path);

  const std::string& path() const { return path_; }
  Kind kind() const { return kind_; }
  bool is_text() const { return kind_ == Kind::kText; }
  int64_t tokens() const { return tokens_; }
  int64_t token_bytes() const { return is_text() ? 1 : 2; }

  // The next tokens, at most `max_tokens`; empty at the end. DataLoss when the file became shorter.
  absl::StatusOr<std::vector<uint16_t>> Next(int64_t max_tokens);
  // Of the next token in this file.
  int64_t position() const { return position_; }

 private:
  TokenInput(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::Status ReadHeader(int64_t size);

  std::string path_;
  Fd fd_;
  Kind kind_ = Kind::kText;
  int64_t header_bytes_ = 0;
  int64_t tokens_ = 0;
  int64_t position_ = 0;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_TOKEN_INPUT_H_
