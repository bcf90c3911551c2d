#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/status.h"
#include "core/strings.h"

namespace normlab {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

int Fd::Release() { return std::exchange(fd_, -1); }

void Fd::Reset() {
  // close(2) frees the number even when it reports an error: never retried.
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

absl::StatusOr<Fd> OpenFd(const std::string& path, int flags, mode_t mode) {
  int fd;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return ErrnoStatus(errno, path);
  return Fd(fd);
}

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

absl::Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAt(int fd, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  ASSIGN_OR_RETURN(const Fd fd, OpenFd(path, O_RDONLY));
  constexpr size_t kChunk = 1 << 16;
  std::string bytes;
  // By plain read, not by size: files of /proc have none.
  while (true) {
    const size_t before = bytes.size();
    bytes.resize(before + kChunk);
    const ssize_t n = read(fd.get(), bytes.data() + before, kChunk);
    const int error_number = errno;
    bytes.resize(before + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && error_number != EINTR) return ErrnoStatus(error_number, path);
    if (n == 0) return bytes;
  }
}

absl::Status WriteFileDurably(const std::string& path, std::string_view bytes, mode_t mode) {
  // The process id keeps two programs apart; one program does not write the same file twice at
  // once.
  const std::string temporary = Cat(path, ".tmp", getpid());
  const absl::Status written = [&] {
    ASSIGN_OR_RETURN(const Fd fd, OpenFd(temporary, O_WRONLY | O_CREAT | O_TRUNC, mode));
    RETURN_IF_ERROR(AddContext(WriteAll(fd.get(), bytes), temporary));
    if (fsync(fd.get()) != 0) return ErrnoStatus(errno, temporary);
    return RenameFile(temporary, path);
  }();
  if (!written.ok()) {
    unlink(temporary.c_str());
    return written;
  }
  return SyncDir(ParentDir(path));
}

absl::Status MakeDirs(const std::string& path, mode_t mode) {
  if (path.empty() || IsDir(path)) return absl::OkStatus();
  RETURN_IF_ERROR(MakeDirs(ParentDir(path), mode));
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return ErrnoStatus(errno, path);
  if (!IsDir(path)) return ErrnoStatus(ENOTDIR, path);
  return absl::OkStatus();
}

absl::Status SyncDir(const std::string& path) {
  const std::string dir = path.empty() ? "." : path;
  ASSIGN_OR_RETURN(const Fd fd, OpenFd(dir, O_RDONLY | O_DIRECTORY));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, dir);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> FileSize(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  return static_cast<uint64_t>(info.st_size);
}

bool FileExists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool IsDir(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::StatusOr<std::vector<std::string>> ListDir(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator it(path, error);
  std::vector<std::string> names;
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return ErrnoStatus(error.value(), path);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status RemoveAll(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return ErrnoStatus(error.value(), path);
  return absl::OkStatus();
}

absl::Status RenameFile(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(errno, Cat("renaming ", from, " to ", to));
  }
  return absl::OkStatus();
}

std::string ParentDir(std::string_view path) {
  return std::filesystem::path(path).parent_path().string();
}

std::string JoinPath(std::string_view dir, std::string_view name) {
  if (dir.empty() || (!name.empty() && name.front() == '/')) return std::string(name);
  return Cat(dir, dir.back() == '/' ? "" : "/", name);
}

}  // namespace normlab
