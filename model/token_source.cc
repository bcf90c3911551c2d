#include "model/token_source.h"

#include <ATen/ATen.h>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace normlab::model {

absl::StatusOr<TokenSource> TokenSource::Open(const std::string& path, int64_t seq_len,
                                              int64_t vocab) {
  ASSIGN_OR_RETURN(TokenFile file, TokenFile::Open(path));
  if (file.tokens() < seq_len + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", file.tokens(), " tokens, but one sequence needs ", seq_len + 1));
  }
  return TokenSource(std::move(file), path, seq_len, vocab);
}

absl::StatusOr<Batch> TokenSource::Read(const std::vector<int64_t>& blocks) const {
  std::vector<int64_t> first_tokens;
  for (const int64_t block : blocks) first_tokens.push_back(block * seq_len_);
  return ReadAt(first_tokens);
}

absl::StatusOr<Batch> TokenSource::ReadApart(int64_t count) const {
  std::vector<int64_t> first_tokens;
  for (int64_t i = 0; i < count; ++i) first_tokens.push_back(i * (seq_len_ + 1));
  if (count * (seq_len_ + 1) > file_.tokens()) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": ", file_.tokens(), " tokens, but ",
                                                   count, " sequences of ", seq_len_ + 1, " need ",
                                                   count * (seq_len_ + 1)));
  }
  return ReadAt(first_tokens);
}

absl::StatusOr<Batch> TokenSource::ReadAt(const std::vector<int64_t>& first_tokens) const {
  const int64_t rows = static_cast<int64_t>(first_tokens.size());
  const int64_t stride = seq_len_ + 1;
  at::Tensor tokens = at::empty({rows, stride}, at::kLong);
  int64_t* out = tokens.data_ptr<int64_t>();
  std::vector<uint16_t> sequence(stride);
  for (int64_t row = 0; row < rows; ++row) {
    RETURN_IF_ERROR(file_.Read(first_tokens[row], stride, sequence.data()));
    for (int64_t i = 0; i < stride; ++i) {
      if (sequence[i] >= vocab_) {
        return absl::InvalidArgumentError(absl::StrCat(path_, ": token ", sequence[i], " at place ",
                                                       first_tokens[row] + i,
                                                       " is beyond the vocabulary of ", vocab_));
      }
      out[row * stride + i] = sequence[i];
    }
  }
  return Batch{tokens.narrow(1, 0, seq_len_).contiguous(),
               tokens.narrow(1, 1, seq_len_).contiguous()};
}

}  // namespace normlab::model
