#include "core/token_file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "core/check.h"
#include "core/dataset.h"
#include "core/little_endian.h"
#include "core/status.h"

namespace normlab {

TokenFileWriter::TokenFileWriter(Fd fd, int64_t tokens)
    : fd_(std::move(fd)), missing_(tokens), counts_(static_cast<size_t>(kMaxVocab)) {}

absl::StatusOr<TokenFileWriter> TokenFileWriter::Create(const std::string& path, int64_t tokens) {
  ASSIGN_OR_RETURN(const std::string header, TokenFileHeader(tokens));
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_WRONLY | O_CREAT | O_TRUNC));
  TokenFileWriter writer(std::move(fd), tokens);
  RETURN_IF_ERROR(WriteAll(writer.fd_.get(), header));
  writer.sha_.Update(header);
  return writer;
}

absl::Status TokenFileWriter::Append(const uint16_t* tokens, int64_t count) {
  CHECK_LE(count, missing_);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(2 * count));
  for (int64_t i = 0; i < count; ++i) {
    PutLittleEndian(bytes, tokens[i]);
    ++counts_[tokens[i]];
  }
  missing_ -= count;
  sha_.Update(bytes);
  return WriteAll(fd_.get(), bytes);
}

absl::StatusOr<std::string> TokenFileWriter::Finish() {
  CHECK_EQ(missing_, 0);
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, "fsync");
  return sha_.HexDigest();
}

double UnigramEntropy(const std::vector<int64_t>& counts) {
  double total = 0;
  for (int64_t count : counts) total += static_cast<double>(count);
  double entropy = 0;
  for (int64_t count : counts) {
    const double share = static_cast<double>(count) / total;
    if (count > 0) entropy -= share * std::log(share);
  }
  return entropy;
}

}  // namespace normlab
