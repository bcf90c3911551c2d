#include "core/token_file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "core/dataset.h"
#include "core/little_endian.h"
#include "core/status.h"
#include "core/token_header.h"

namespace normlab {

TokenFileWriter::TokenFileWriter(std::string path, Fd fd, int64_t expected)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      expected_(expected),
      counts_(static_cast<size_t>(kMaxVocab)) {}

absl::StatusOr<TokenFileWriter> TokenFileWriter::Create(const std::string& path, int64_t expected) {
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_WRONLY | O_CREAT | O_TRUNC));
  TokenFileWriter writer(path, std::move(fd), expected);
  const std::string header = TokenFileHeader(expected);
  RETURN_IF_ERROR(WriteAll(writer.fd_.get(), header));
  writer.sha_.Update(header);
  return writer;
}

absl::Status TokenFileWriter::Append(const uint16_t* tokens, int64_t count) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(2 * count));
  for (int64_t i = 0; i < count; ++i) {
    PutLittleEndian(bytes, tokens[i]);
    ++counts_[tokens[i]];
  }
  tokens_ += count;
  sha_.Update(bytes);
  return WriteAll(fd_.get(), bytes);
}

absl::StatusOr<std::string> TokenFileWriter::Finish() {
  const bool as_expected = tokens_ == expected_;
  if (!as_expected) RETURN_IF_ERROR(CorrectHeader());
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, path_);
  if (as_expected) return sha_.HexDigest();
  return Sha256File(path_);
}

absl::Status TokenFileWriter::CorrectHeader() {
  if (lseek(fd_.get(), 0, SEEK_SET) != 0) return ErrnoStatus(errno, path_);
  return AddContext(WriteAll(fd_.get(), TokenFileHeader(tokens_)), path_);
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
