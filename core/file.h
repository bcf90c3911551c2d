#ifndef NORMLAB_CORE_FILE_H_
#define NORMLAB_CORE_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Files with errors as statuses: "path: No such file or directory", canonical code NotFound.

namespace normlab {

// Owns one file descriptor; closes it at the end. Movable.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { Reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();
  void Reset();

 private:
  int fd_ = -1;
};

// open(2) with O_CLOEXEC added; retried when interrupted.
absl::StatusOr<Fd> OpenFd(const std::string& path, int flags, mode_t mode = 0644);

// A pipe whose ends close on exec.
struct Pipe {
  Fd read;
  Fd write;
};
absl::StatusOr<Pipe> MakePipe();

// Writes all of `bytes`, however many calls it takes.
absl::Status WriteAll(int fd, std::string_view bytes);

// At most `size` bytes from `offset`; fewer only at the end of the file.
absl::StatusOr<std::string> ReadAt(int fd, uint64_t offset, size_t size);

absl::StatusOr<std::string> ReadFile(const std::string& path);

// Whole or not at all, and there after a power cut: temporary file beside it, fsync, rename, fsync
// of the folder. An existing file is replaced. `mode` counts from the first byte on (0600 is never
// wider).
absl::Status WriteFileDurably(const std::string& path, std::string_view bytes, mode_t mode = 0644);

// Makes the folder and its parents; no error when it is there.
absl::Status MakeDirs(const std::string& path, mode_t mode = 0755);

// fsync of a folder, so that names made or renamed in it survive.
absl::Status SyncDir(const std::string& path);

absl::StatusOr<uint64_t> FileSize(const std::string& path);
bool FileExists(const std::string& path);
bool IsDir(const std::string& path);

// Names in the folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDir(const std::string& path);

// Removes a file, or a folder with all that is in it; no error when it is not there.
absl::Status RemoveAll(const std::string& path);
absl::Status RenameFile(const std::string& from, const std::string& to);

// "a/b" from "a" and "b"; an absolute `name` is returned as it is.
std::string JoinPath(std::string_view dir, std::string_view name);

// What comes before the last slash: "/a/b" of "/a/b/c". Empty without one.
std::string ParentDir(std::string_view path);

}  // namespace normlab

#endif  // NORMLAB_CORE_FILE_H_
