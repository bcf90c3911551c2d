#include "core/attempt_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/crc32c.h"
#include "core/little_endian.h"
#include "core/record.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab {

namespace {

constexpr std::string_view kMagic = "NLATTLOG";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kFileHeaderBytes = 16;
constexpr uint64_t kEntryHeaderBytes = 16;  // length, checksum, seq
constexpr uint64_t kMarkEvery = 256;        // records

std::string FileHeader() {
  std::string header(kMagic);
  PutLittleEndian(header, kVersion);
  PutLittleEndian(header, uint32_t{0});
  return header;
}

uint32_t Checksum(std::string_view seq_bytes, std::string_view record) {
  return Crc32c(record, Crc32c(seq_bytes));
}

std::string Entry(uint64_t seq, std::string_view record) {
  std::string seq_bytes;
  PutLittleEndian(seq_bytes, seq);
  std::string entry;
  entry.reserve(kEntryHeaderBytes + record.size());
  PutLittleEndian(entry, static_cast<uint32_t>(record.size()));
  PutLittleEndian(entry, Checksum(seq_bytes, record));
  entry += seq_bytes;
  entry += record;
  return entry;
}

// OK for a whole header of ours. A file that is a beginning of it (a crash while it was made) gives
// OutOfRange.
absl::Status CheckFileHeader(int fd, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string header, ReadAt(fd, 0, kFileHeaderBytes));
  const std::string expected = FileHeader();
  if (header.size() < kFileHeaderBytes && expected.starts_with(header)) {
    return absl::OutOfRangeError("the file's header is not complete");
  }
  if (header.substr(0, kMagic.size()) != kMagic) return DataLoss(path, " is no attempt log");
  const auto version = GetLittleEndian<uint32_t>(header.data() + kMagic.size());
  if (version > kVersion) {
    return FailedPrecondition(path, " is an attempt log of version ", version,
                              "; this program reads ", kVersion);
  }
  if (header != expected) return DataLoss(path, ": the attempt log's header is damaged");
  return absl::OkStatus();
}

// Appends bytes [from, size) of the log to log.bad, durably, then cuts the log there.
absl::Status CutTail(int fd, const std::string& dir, uint64_t from, uint64_t size) {
  ASSIGN_OR_RETURN(const Fd bad,
                   OpenFd(JoinPath(dir, kAttemptLogBadFile), O_WRONLY | O_CREAT | O_APPEND));
  constexpr size_t kChunk = 1 << 20;
  for (uint64_t offset = from; offset < size;) {
    ASSIGN_OR_RETURN(const std::string bytes,
                     ReadAt(fd, offset, std::min<uint64_t>(kChunk, size - offset)));
    if (bytes.empty()) break;
    RETURN_IF_ERROR(WriteAll(bad.get(), bytes));
    offset += bytes.size();
  }
  if (fsync(bad.get()) != 0) return ErrnoStatus(errno, "fsync");
  RETURN_IF_ERROR(SyncDir(dir));
  if (ftruncate(fd, static_cast<off_t>(from)) != 0) return ErrnoStatus(errno, "ftruncate");
  if (fsync(fd) != 0) return ErrnoStatus(errno, "fsync");
  return absl::OkStatus();
}

// Makes a new file with its header, or completes one whose header was cut short.
absl::Status WriteHeader(int fd, const std::string& dir) {
  if (ftruncate(fd, 0) != 0) return ErrnoStatus(errno, "ftruncate");
  RETURN_IF_ERROR(WriteAll(fd, FileHeader()));
  if (fsync(fd) != 0) return ErrnoStatus(errno, "fsync");
  return SyncDir(dir);
}

}  // namespace

std::string AttemptDirName(std::string_view run, int attempt, std::string_view token) {
  return Cat(run, "-", attempt, "-", token);
}

AttemptLogWriter::AttemptLogWriter(Fd fd, uint64_t next_seq, uint64_t repaired_bytes)
    : fd_(std::move(fd)), next_seq_(next_seq), repaired_bytes_(repaired_bytes) {}

absl::StatusOr<std::unique_ptr<AttemptLogWriter>> AttemptLogWriter::Open(const std::string& dir) {
  const std::string path = JoinPath(dir, kAttemptLogFile);
  RETURN_IF_ERROR(MakeDirs(dir));
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_RDWR | O_CREAT | O_APPEND));
  const absl::Status header = CheckFileHeader(fd.get(), path);
  if (absl::IsOutOfRange(header)) {
    RETURN_IF_ERROR(AddContext(WriteHeader(fd.get(), dir), path));
  } else if (!header.ok()) {
    return header;
  }
  ASSIGN_OR_RETURN(const auto reader, AttemptLogReader::Open(dir));
  ASSIGN_OR_RETURN(const uint64_t last_seq, reader->LastSeq());
  const uint64_t torn = reader->trailing_bytes();
  if (torn > 0) {
    ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
    RETURN_IF_ERROR(AddContext(CutTail(fd.get(), dir, size - torn, size), path));
  }
  return std::unique_ptr<AttemptLogWriter>(new AttemptLogWriter(std::move(fd), last_seq + 1, torn));
}

absl::StatusOr<uint64_t> AttemptLogWriter::Append(std::string_view record) {
  if (!broken_.ok()) return broken_;
  if (record.size() > kMaxRecordBytes) {
    return InvalidArgument("a record of ", record.size(), " bytes; at most ", kMaxRecordBytes,
                           " are allowed");
  }
  broken_ =
      AddContext(WriteAll(fd_.get(), Entry(next_seq_, record)), "appending to the attempt log");
  if (!broken_.ok()) return broken_;
  return next_seq_++;
}

absl::Status AttemptLogWriter::Sync() {
  if (broken_.ok() && fdatasync(fd_.get()) != 0) {
    broken_ = ErrnoStatus(errno, "syncing the attempt log");
  }
  return broken_;
}

AttemptLogReader::AttemptLogReader(Fd fd) : fd_(std::move(fd)), marks_{{1, kFileHeaderBytes}} {}

absl::StatusOr<std::unique_ptr<AttemptLogReader>> AttemptLogReader::Open(const std::string& dir) {
  const std::string path = JoinPath(dir, kAttemptLogFile);
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_RDONLY));
  const absl::Status header = CheckFileHeader(fd.get(), path);
  if (absl::IsOutOfRange(header)) return DataLoss(path, ": ", header.message());
  RETURN_IF_ERROR(header);
  return std::unique_ptr<AttemptLogReader>(new AttemptLogReader(std::move(fd)));
}

// OutOfRange: no whole, sound entry with that seq at that offset.
absl::StatusOr<SeqRecord> AttemptLogReader::ReadEntry(uint64_t offset, uint64_t expected_seq) {
  ASSIGN_OR_RETURN(const std::string header, ReadAt(fd_.get(), offset, kEntryHeaderBytes));
  const absl::Status none = absl::OutOfRangeError("no whole record there");
  if (header.size() < kEntryHeaderBytes) return none;
  const auto size = GetLittleEndian<uint32_t>(header.data());
  const auto seq = GetLittleEndian<uint64_t>(header.data() + 8);
  if (size > kMaxRecordBytes || seq != expected_seq) return none;
  ASSIGN_OR_RETURN(std::string record, ReadAt(fd_.get(), offset + kEntryHeaderBytes, size));
  if (record.size() < size) return none;
  const std::string_view seq_bytes = std::string_view(header).substr(8, 8);
  if (Checksum(seq_bytes, record) != GetLittleEndian<uint32_t>(header.data() + 4)) return none;
  return SeqRecord{seq, std::move(record)};
}

absl::StatusOr<std::vector<SeqRecord>> AttemptLogReader::ReadFrom(uint64_t seq, size_t max_bytes) {
  if (seq == 0) return InvalidArgument("records are numbered from 1");
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), seq,
                                      [](uint64_t s, const Mark& mark) { return s < mark.seq; });
  Mark at = *std::prev(after);
  std::vector<SeqRecord> records;
  for (size_t bytes = 0; records.empty() || bytes < max_bytes;) {
    auto entry = ReadEntry(at.offset, at.seq);
    if (absl::IsOutOfRange(entry.status())) break;
    RETURN_IF_ERROR(entry);
    at = {at.seq + 1, at.offset + kEntryHeaderBytes + entry->bytes.size()};
    if (at.seq >= marks_.back().seq + kMarkEvery) marks_.push_back(at);
    if (at.seq <= seq) continue;
    bytes += entry->bytes.size();
    records.push_back(*std::move(entry));
  }
  return records;
}

absl::StatusOr<uint64_t> AttemptLogReader::LastSeq() {
  Mark at = marks_.back();
  while (true) {
    const auto entry = ReadEntry(at.offset, at.seq);
    if (absl::IsOutOfRange(entry.status())) break;
    RETURN_IF_ERROR(entry);
    at = {at.seq + 1, at.offset + kEntryHeaderBytes + entry->bytes.size()};
    if (at.seq >= marks_.back().seq + kMarkEvery) marks_.push_back(at);
  }
  const off_t size = lseek(fd_.get(), 0, SEEK_END);
  if (size < 0) return ErrnoStatus(errno, "lseek");
  trailing_bytes_ = static_cast<uint64_t>(size) - at.offset;
  return at.seq - 1;
}

}  // namespace normlab
