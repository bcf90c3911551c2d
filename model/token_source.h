// Sequences of a token file as tensors.
#ifndef NORMLAB_MODEL_TOKEN_SOURCE_H_
#define NORMLAB_MODEL_TOKEN_SOURCE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset.h"

namespace normlab::model {

// inputs and targets [B, T] int64; targets are the inputs shifted by one token.
struct Batch {
  at::Tensor inputs, targets;
};

class TokenSource {
 public:
  // InvalidArgument when the file has not one sequence of seq_len + 1 tokens.
  static absl::StatusOr<TokenSource> Open(const std::string& path, int64_t seq_len, int64_t vocab);

  // M of data_order.h: sequences that share no target.
  int64_t blocks() const { return (file_.tokens() - 1) / seq_len_; }

  // The sequences of these blocks, in this order. InvalidArgument for a token at or above `vocab`,
  // naming it and its place.
  absl::StatusOr<Batch> Read(const std::vector<int64_t>& blocks) const;

  // `count` sequences of seq_len + 1 tokens laid end to end from the start, without overlap.
  absl::StatusOr<Batch> ReadApart(int64_t count) const;

 private:
  TokenSource(TokenFile file, std::string path, int64_t seq_len, int64_t vocab)
      : file_(std::move(file)), path_(std::move(path)), seq_len_(seq_len), vocab_(vocab) {}
  absl::StatusOr<Batch> ReadAt(const std::vector<int64_t>& first_tokens) const;

  TokenFile file_;
  std::string path_;
  int64_t seq_len_;
  int64_t vocab_;
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_TOKEN_SOURCE_H_
