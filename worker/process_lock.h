#ifndef NORMLAB_WORKER_PROCESS_LOCK_H_
#define NORMLAB_WORKER_PROCESS_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/file.h"

namespace normlab::worker {

// Holds a file locked for as long as the process lives, kill -9 included: the kernel lets go.
class ProcessLock {
 public:
  // AlreadyExists while a living process holds it (its pid is in the message); errors of the disk.
  static absl::StatusOr<ProcessLock> TryTake(const std::string& path);

  // Sends a signal to the process that holds the file locked. NotFound when nobody does.
  static absl::Status SignalHolder(const std::string& path, int signal);

 private:
  explicit ProcessLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_PROCESS_LOCK_H_
