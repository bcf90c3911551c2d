#include "core/process_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/status.h"
#include "core/strings.h"

namespace normlab {
namespace {

bool IsFileAt(int fd, const std::string& path) {
  struct stat opened = {};
  struct stat named = {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

absl::StatusOr<ProcessLock> ProcessLock::TryTake(const std::string& path) {
  for (;;) {
    ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_RDWR | O_CREAT, 0600));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return ErrnoStatus(errno, path);
      const auto pid = ReadAt(fd.get(), 0, 32);
      return absl::AlreadyExistsError(Cat(path, " is held by process ", pid.value_or("?")));
    }
    // Removed between the two calls: what is locked is nobody's file any more.
    if (!IsFileAt(fd.get(), path)) continue;
    if (::ftruncate(fd.get(), 0) != 0) return ErrnoStatus(errno, path);
    RETURN_IF_ERROR(WriteAll(fd.get(), Cat(::getpid())));
    return ProcessLock(path, std::move(fd));
  }
}

bool ProcessLock::StillHeld() const { return IsFileAt(fd_.get(), path_); }

absl::Status ProcessLock::SignalHolder(const std::string& path, int signal) {
  // Its pid counts only while it holds the lock: a pid left in the file may be anybody's by now.
  const auto lock = TryTake(path);
  if (!absl::IsAlreadyExists(lock.status())) {
    return lock.ok() ? NotFound("nobody holds ", path) : lock.status();
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  int64_t pid = 0;
  if (!ParseInt64(text, pid) || pid <= 0) return DataLoss(path, " does not say who holds it");
  if (::kill(static_cast<pid_t>(pid), signal) != 0) return ErrnoStatus(errno, Cat("process ", pid));
  return absl::OkStatus();
}

}  // namespace normlab
