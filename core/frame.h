#ifndef NORMLAB_CORE_FRAME_H_
#define NORMLAB_CORE_FRAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Records on the pipe from trainer to worker: u32 length, u32 CRC-32C of the bytes, the bytes
// (little-endian).

namespace normlab {

// One frame around `record`.
std::string EncodeFrame(std::string_view record);

// Writes frames to a descriptor that it does not own; blocks while the pipe is full. One thread.
class FrameWriter {
 public:
  explicit FrameWriter(int fd) : fd_(fd) {}
  // Unavailable when the reader is gone (EPIPE; the process must ignore SIGPIPE).
  absl::Status Write(std::string_view record);

 private:
  const int fd_;
};

// Takes bytes as they come, gives whole records back. After an error it stays in error: a pipe has
// no place to start again from.
class FrameParser {
 public:
  void Feed(std::string_view bytes);
  // The next record; empty when more bytes are needed; DataLoss for a wrong checksum or length.
  absl::StatusOr<std::optional<std::string>> Next();
  // Bytes of an unfinished frame: not 0 at the end of the pipe means that the writer died in one.
  size_t pending_bytes() const { return buffer_.size() - position_; }

 private:
  std::string buffer_;
  size_t position_ = 0;
  absl::Status error_;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_FRAME_H_
