#include "worker/process_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace normlab::worker {

absl::StatusOr<ProcessLock> ProcessLock::TryTake(const std::string& path) {
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_RDWR | O_CREAT));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, path);
    const auto pid = ReadAt(fd.get(), 0, 32);
    return absl::AlreadyExistsError(absl::StrCat(path, " is held by process ", pid.value_or("?")));
  }
  if (::ftruncate(fd.get(), 0) != 0) return ErrnoStatus(errno, path);
  RETURN_IF_ERROR(WriteAll(fd.get(), absl::StrCat(::getpid())));
  return ProcessLock(std::move(fd));
}

absl::Status ProcessLock::SignalHolder(const std::string& path, int signal) {
  // Its pid counts only while it holds the lock: a pid left in the file may be anybody's by now.
  const auto lock = TryTake(path);
  if (!absl::IsAlreadyExists(lock.status())) {
    return lock.ok() ? absl::NotFoundError(absl::StrCat("nobody holds ", path)) : lock.status();
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  int pid = 0;
  if (!absl::SimpleAtoi(text, &pid) || pid <= 0) {
    return absl::DataLossError(absl::StrCat(path, " does not say who holds it"));
  }
  if (::kill(pid, signal) != 0) return ErrnoStatus(errno, absl::StrCat("process ", pid));
  return absl::OkStatus();
}

}  // namespace normlab::worker
