#include "server/store/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/status.h"
#include "core/strings.h"

namespace normlab::server {

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& path) {
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_RDWR | O_CREAT, 0600));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, path);
    const auto holder = ReadAt(fd.get(), 0, 32);
    return FailedPrecondition("another server has this data folder (process ",
                              StripSpace(holder.ok() ? *holder : "unknown"), " holds ", path, ")");
  }
  if (ftruncate(fd.get(), 0) != 0) return ErrnoStatus(errno, path);
  RETURN_IF_ERROR(WriteAll(fd.get(), Cat(getpid(), "\n")));
  return FolderLock(std::move(fd));
}

}  // namespace normlab::server
