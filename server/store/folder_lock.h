#ifndef NORMLAB_SERVER_STORE_FOLDER_LOCK_H_
#define NORMLAB_SERVER_STORE_FOLDER_LOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/file.h"

namespace normlab::server {

// Holds a data folder's LOCK file while it lives; the system lets go when the process dies.
class FolderLock {
 public:
  // FailedPrecondition when another process holds it; names that process.
  static absl::StatusOr<FolderLock> Take(const std::string& path);

 private:
  explicit FolderLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_FOLDER_LOCK_H_
