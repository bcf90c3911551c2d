#ifndef NORMLAB_CORE_TOKEN_FILE_WRITER_H_
#define NORMLAB_CORE_TOKEN_FILE_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/file.h"
#include "core/sha256.h"

namespace normlab {

// Writes one token file, counting and hashing as it goes.
class TokenFileWriter {
 public:
  // `expected`: how many tokens there will be, so that the header, which comes first, is right at
  // once. Where that turns out otherwise (text of which nobody knows how many tokens it makes: 0),
  // Finish writes the header again and reads the file once more for its digest.
  static absl::StatusOr<TokenFileWriter> Create(const std::string& path, int64_t expected);

  absl::Status Append(const uint16_t* tokens, int64_t count);
  // Syncs the file; its SHA-256.
  absl::StatusOr<std::string> Finish();

  int64_t tokens() const { return tokens_; }
  int64_t missing() const { return expected_ - tokens_; }
  // How often each token occurs, by token.
  const std::vector<int64_t>& counts() const { return counts_; }

 private:
  TokenFileWriter(std::string path, Fd fd, int64_t expected);
  absl::Status CorrectHeader();

  std::string path_;
  Fd fd_;
  int64_t expected_;
  int64_t tokens_ = 0;
  Sha256 sha_;
  std::vector<int64_t> counts_;
};

// Entropy of the distribution that `counts` are drawn from, nats. 0 for no counts.
double UnigramEntropy(const std::vector<int64_t>& counts);

}  // namespace normlab

#endif  // NORMLAB_CORE_TOKEN_FILE_WRITER_H_
