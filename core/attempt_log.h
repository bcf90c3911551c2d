#ifndef NORMLAB_CORE_ATTEMPT_LOG_H_
#define NORMLAB_CORE_ATTEMPT_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/file.h"

// The append-only record of all that one attempt produced: file "log" in a folder of its own.
//
//   file   := magic "NLATTLOG" | u32 version (1) | u32 0 | entry*            (little-endian)
//   entry  := u32 length | u32 crc32c(seq ‖ bytes) | u64 seq | bytes[length]
//
// seq counts from 1 without a gap, so that a record can neither be lost nor doubled unseen. An
// entry that is cut short or damaged ends the log: what comes after it is not trusted.

namespace normlab {

inline constexpr char kAttemptLogFile[] = "log";
inline constexpr char kAttemptLogBadFile[] = "log.bad";

struct SeqRecord {
  uint64_t seq = 0;
  std::string bytes;  // core/record.h
  friend bool operator==(const SeqRecord&, const SeqRecord&) = default;
};

// "<run>-<attempt>-<token>": the folder's name under attempts/.
std::string AttemptDirName(std::string_view run, int attempt, std::string_view token);

// Writes one log. One writer a log at a time; not thread-safe.
// When bytes are safe: Append hands them to the operating system at once (they outlive this
// process); Sync puts them on the disk (they outlive the machine). The owner syncs before it lets
// anybody rely on a record, a checkpoint or the exit above all, and else at its own pace. After a
// failed write or sync every later call fails: the file's state is unknown from then on.
class AttemptLogWriter {
 public:
  // Makes the folder and the file, or goes on with the ones that are there. A torn tail is cut off
  // and kept as "log.bad" (appended to, should that be there). DataLoss for a file that is no
  // attempt log, FailedPrecondition for one of a newer version.
  static absl::StatusOr<std::unique_ptr<AttemptLogWriter>> Open(const std::string& dir);

  // Returns the record's seq. InvalidArgument when it is longer than kMaxRecordBytes.
  absl::StatusOr<uint64_t> Append(std::string_view record);
  absl::Status Sync();

  // 0: empty.
  uint64_t last_seq() const { return next_seq_ - 1; }
  // Bytes of torn tail that Open cut off; 0 nearly always.
  uint64_t repaired_bytes() const { return repaired_bytes_; }

 private:
  AttemptLogWriter(Fd fd, uint64_t next_seq, uint64_t repaired_bytes);
  Fd fd_;
  uint64_t next_seq_;
  uint64_t repaired_bytes_;
  absl::Status broken_;
};

// Reads a log, also while a writer appends: an entry not yet whole is just not there yet. Remembers
// where it was, so that reading on is cheap. Not thread-safe; open several.
class AttemptLogReader {
 public:
  static absl::StatusOr<std::unique_ptr<AttemptLogReader>> Open(const std::string& dir);

  // Records from `seq` (at least 1) on, until `max_bytes` are reached, but at least one if there is
  // one. Empty: no whole record there (yet).
  absl::StatusOr<std::vector<SeqRecord>> ReadFrom(uint64_t seq, size_t max_bytes);

  // Seq of the last whole record; 0 when there is none. Reads on to the end.
  absl::StatusOr<uint64_t> LastSeq();

  // Bytes after the last whole record as of the last call: a torn tail, once the writer is gone.
  uint64_t trailing_bytes() const { return trailing_bytes_; }

 private:
  struct Mark {  // where a record begins; one in every few, to seek by
    uint64_t seq;
    uint64_t offset;
  };
  explicit AttemptLogReader(Fd fd);
  absl::StatusOr<SeqRecord> ReadEntry(uint64_t offset, uint64_t expected_seq);
  Fd fd_;
  std::vector<Mark> marks_;
  uint64_t trailing_bytes_ = 0;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_ATTEMPT_LOG_H_
