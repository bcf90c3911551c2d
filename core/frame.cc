#include "core/frame.h"

#include "core/crc32c.h"
#include "core/file.h"
#include "core/little_endian.h"
#include "core/record.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab {

namespace {
constexpr size_t kHeaderBytes = 8;
}  // namespace

std::string EncodeFrame(std::string_view record) {
  std::string frame;
  frame.reserve(kHeaderBytes + record.size());
  PutLittleEndian(frame, static_cast<uint32_t>(record.size()));
  PutLittleEndian(frame, Crc32c(record));
  frame += record;
  return frame;
}

absl::Status FrameWriter::Write(std::string_view record) {
  return AddContext(WriteAll(fd_, EncodeFrame(record)), "sending a record to the worker");
}

void FrameParser::Feed(std::string_view bytes) {
  // What was taken out goes before new bytes come in, so that the buffer stays about one read long.
  buffer_.erase(0, position_);
  position_ = 0;
  buffer_ += bytes;
}

absl::StatusOr<std::optional<std::string>> FrameParser::Next() {
  if (!error_.ok()) return error_;
  if (pending_bytes() < kHeaderBytes) return std::optional<std::string>();
  const char* const header = buffer_.data() + position_;
  const auto size = GetLittleEndian<uint32_t>(header);
  if (size > kMaxRecordBytes) {
    error_ = DataLoss("a frame of ", size, " bytes; at most ", kMaxRecordBytes, " are allowed");
    return error_;
  }
  if (pending_bytes() < kHeaderBytes + size) return std::optional<std::string>();
  std::string record = buffer_.substr(position_ + kHeaderBytes, size);
  if (Crc32c(record) != GetLittleEndian<uint32_t>(header + 4)) {
    error_ = DataLoss("a frame whose checksum is wrong");
    return error_;
  }
  position_ += kHeaderBytes + size;
  return std::optional<std::string>(std::move(record));
}

}  // namespace normlab
