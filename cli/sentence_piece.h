// SentencePiece, through normlab-tokenizer: its library brings a protobuf of its own, under the
// names of ours, and the two cannot live in one process.
#ifndef NORMLAB_CLI_SENTENCE_PIECE_H_
#define NORMLAB_CLI_SENTENCE_PIECE_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/text_encoder.h"

namespace normlab::cli {

struct SentencePieceOptions {
  std::string program;    // path of normlab-tokenizer
  std::string model;      // a model that is there; empty: one is learned
  int64_t vocab = 8192;   // of a model to learn
  std::string learn_dir;  // where a learned model lies until it is kept
};

class SentencePiece : public TextEncoder {
 public:
  explicit SentencePiece(SentencePieceOptions options);
  // Removes a learned model.
  ~SentencePiece() override;

  absl::Status Prepare(const std::vector<TextSpan>& training) override;
  int64_t vocab() const override { return vocab_; }
  absl::Status Encode(const std::vector<TextSpan>& spans, const Take& take) override;
  absl::StatusOr<nlohmann::json> Keep(const std::string& dir) const override;

 private:
  const SentencePieceOptions options_;
  std::string model_;
  int64_t vocab_ = 0;
};

// Text of tokens by the model at `model`: `next` gives tokens, at most kDecodeTokens at once, until
// it gives none; `take` gets text.
inline constexpr int64_t kDecodeTokens = 2048;  // what a pipe takes whole
absl::Status DecodeSentencePiece(const std::string& program, const std::string& model,
                                 const std::function<absl::StatusOr<std::vector<uint16_t>>()>& next,
                                 const std::function<void(std::string_view)>& take);

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_SENTENCE_PIECE_H_
