#include "worker/process_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace normlab::worker
