#ifndef NORMLAB_CORE_PROCESS_LOCK_H_
#define NORMLAB_CORE_PROCESS_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/file.h"

namespace normlab {

// Holds a file locked for as long as the process lives, kill -9 included: the kernel lets go.
class ProcessLock {
 public:
  // AlreadyExists while a living process holds it (its pid is in the message); errors of the disk.
  static absl::StatusOr<ProcessLock> TryTake(const std::string& path);

  // Sends a signal to the process that holds the file locked. NotFound when nobody does.
  static absl::Status SignalHolder(const std::string& path, int signal);

  // False once the file at the path is no longer the one that is locked: the folder was removed or
  // replaced, and somebody else may hold the new one.
  bool StillHeld() const;

  const std::string& path() const { return path_; }

 private:
  ProcessLock(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  Fd fd_;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_PROCESS_LOCK_H_
