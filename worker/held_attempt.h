#ifndef NORMLAB_WORKER_HELD_ATTEMPT_H_
#define NORMLAB_WORKER_HELD_ATTEMPT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/attempt_log.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/record.h"

namespace normlab::worker {

struct AttemptIdentity {
  RunId run;
  AttemptNumber attempt;
  LeaseToken token;
  friend bool operator==(const AttemptIdentity&, const AttemptIdentity&) = default;
};

// One attempt whose log is on this worker's disk: running, or finished and not yet confirmed by the
// server. Written by the thread that runs it, read by relay and session. Thread-safe.
class HeldAttempt {
 public:
  // Opens the log in `dir`, which is made if need be, and reads it through for the progress so far.
  // `on_record` is called after every record, by the thread that appends; it must not call back
  // into anything that appends.
  static absl::StatusOr<std::shared_ptr<HeldAttempt>> Open(std::string dir,
                                                           const AttemptIdentity& identity,
                                                           std::function<void()> on_record);

  const AttemptIdentity& identity() const { return identity_; }
  const std::string& dir() const { return dir_; }

  // Appends one encoded record. DataLoss for bytes that are none; errors of the disk, after which
  // nothing more can be appended.
  absl::Status Append(std::string_view bytes);
  absl::Status Append(const Record& record) { return Append(EncodeRecord(record)); }

  struct Progress {
    uint64_t last_seq = 0;
    int64_t last_step = 0;   // last finished optimiser step
    std::string stopped_by;  // rule of the stop policy that fired
    bool finished = false;   // the log ends with an exit record
  };
  Progress progress() const;

  // Records after `seq`, at least one if there is one, about `max_bytes` of them. They are on the
  // disk before this returns: the server must never have what a power cut could take from the log.
  absl::StatusOr<std::vector<SeqRecord>> SyncedRecordsAfter(uint64_t seq, size_t max_bytes);

  // Up to where the server has it; empty: not known yet.
  std::optional<uint64_t> acked() const;
  void set_acked(uint64_t seq);
  // Finished, and the server has all of it.
  bool Delivered() const;

 private:
  HeldAttempt(std::string dir, const AttemptIdentity& identity, std::function<void()> on_record);
  absl::Status ReadProgress();
  void Note(const Record& record, uint64_t seq) EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string dir_;
  const AttemptIdentity identity_;
  const std::function<void()> on_record_;

  mutable Mutex mu_;
  std::unique_ptr<AttemptLogWriter> writer_ GUARDED_BY(mu_);
  Progress progress_ GUARDED_BY(mu_);
  std::optional<uint64_t> acked_ GUARDED_BY(mu_);

  // Its own lock: reading from a slow disk must not hold up the trainer's thread.
  Mutex reader_mu_;
  std::unique_ptr<AttemptLogReader> reader_ GUARDED_BY(reader_mu_);
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_HELD_ATTEMPT_H_
