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

// Writes one token file whose length is known, counting and hashing as it goes.
class TokenFileWriter {
 public:
  static absl::StatusOr<TokenFileWriter> Create(const std::string& path, int64_t tokens);

  absl::Status Append(const uint16_t* tokens, int64_t count);
  // Syncs the file; its SHA-256. CHECKs that all tokens were appended.
  absl::StatusOr<std::string> Finish();

  int64_t missing() const { return missing_; }
  // How often each token occurs, by token.
  const std::vector<int64_t>& counts() const { return counts_; }

 private:
  TokenFileWriter(Fd fd, int64_t tokens);
  Fd fd_;
  int64_t missing_;
  Sha256 sha_;
  std::vector<int64_t> counts_;
};

// Entropy of the distribution that `counts` are drawn from, nats. 0 for no counts.
double UnigramEntropy(const std::vector<int64_t>& counts);

}  // namespace normlab

#endif  // NORMLAB_CORE_TOKEN_FILE_WRITER_H_
