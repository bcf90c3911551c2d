#include "worker/dataset_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/dataset.h"
#include "core/file.h"
#include "core/sha256.h"
#include "core/status.h"
#include "proto/control.pb.h"

namespace normlab::worker {
namespace {

bool IsDatasetAt(const std::string& dir, const std::string& sha256) {
  const auto meta = ReadDatasetMeta(dir);
  return meta.ok() && meta->sha256 == sha256 && TokenFile::Open(JoinPath(dir, "train.bin")).ok() &&
         TokenFile::Open(JoinPath(dir, "val.bin")).ok();
}

// Why nobody has the data set any more, when one of its name is here with other content.
absl::Status ExplainMissing(const absl::Status& missing, const std::string& dir,
                            const std::string& sha256) {
  const auto meta = ReadDatasetMeta(dir);
  if (!meta.ok() || meta->sha256 == sha256) return missing;
  return absl::FailedPreconditionError(
      absl::StrCat("data set ", meta->name, " has changed: it is ", meta->sha256.substr(0, 12),
                   "…, and this run was submitted for ", sha256.substr(0, 12), "…"));
}

// Writes the chunks of a stream to files in a folder. The server is trusted to send a data set, not
// to choose where on this disk it lands.
class ChunkWriter {
 public:
  explicit ChunkWriter(std::string dir) : dir_(std::move(dir)) {}

  absl::Status Take(const v1::DatasetChunk& chunk) {
    if (chunk.file() != name_) RETURN_IF_ERROR(Begin(chunk.file()));
    if (chunk.offset() != size_) {
      return absl::DataLossError(
          absl::StrCat(name_, ": got bytes from ", chunk.offset(), " after byte ", size_));
    }
    RETURN_IF_ERROR(WriteAll(fd_.get(), chunk.data()));
    size_ += chunk.data().size();
    return absl::OkStatus();
  }

  absl::Status Close() {
    if (fd_.valid() && ::fsync(fd_.get()) != 0) return ErrnoStatus(errno, JoinPath(dir_, name_));
    fd_.Reset();
    return absl::OkStatus();
  }

 private:
  absl::Status Begin(const std::string& name) {
    RETURN_IF_ERROR(Close());
    if (name.empty() || name[0] == '.' || absl::StrContains(name, '/')) {
      return absl::DataLossError(absl::StrCat("not a data set's file name: ", name));
    }
    ASSIGN_OR_RETURN(fd_, OpenFd(JoinPath(dir_, name), O_WRONLY | O_CREAT | O_EXCL));
    name_ = name;
    size_ = 0;
    return absl::OkStatus();
  }

  const std::string dir_;
  std::string name_;
  Fd fd_;
  uint64_t size_ = 0;
};

absl::Status CheckFetched(const std::string& dir, const std::string& sha256) {
  ASSIGN_OR_RETURN(const std::string train, Sha256File(JoinPath(dir, "train.bin")));
  ASSIGN_OR_RETURN(const std::string val, Sha256File(JoinPath(dir, "val.bin")));
  const std::string actual = DatasetSha256(train, val);
  if (actual != sha256 || !IsDatasetAt(dir, sha256)) {
    return absl::DataLossError(
        absl::StrCat("the data set that came has SHA-256 ", actual, ", asked for was ", sha256));
  }
  return absl::OkStatus();
}

}  // namespace

DatasetCache::DatasetCache(std::string dir, ServerLink& link) : dir_(std::move(dir)), link_(link) {}

absl::StatusOr<std::string> DatasetCache::Find(const std::string& name, const std::string& sha256,
                                               const std::string& server_datasets_dir) {
  const std::string own = JoinPath(dir_, name);
  if (IsDatasetAt(own, sha256)) return own;
  if (!server_datasets_dir.empty()) {
    const std::string shared = JoinPath(server_datasets_dir, name);
    if (IsDatasetAt(shared, sha256)) return shared;
  }
  // By digest, not by name: another server's data set of the same name may be there already.
  const std::string fetched = JoinPath(dir_, absl::StrCat("sha256-", sha256));
  MutexLock lock(fetching_);
  if (IsDatasetAt(fetched, sha256)) return fetched;
  absl::Status status = AddContext(Fetch(sha256, fetched), absl::StrCat("Failed to fetch ", name));
  if (status.ok()) return fetched;
  if (!absl::IsNotFound(status)) return status;
  for (const std::string& root : {server_datasets_dir, dir_}) {
    status = ExplainMissing(status, JoinPath(root, name), sha256);
  }
  return status;
}

absl::Status DatasetCache::Fetch(const std::string& sha256, const std::string& destination) {
  const std::string partial = absl::StrCat(destination, ".partial");
  RETURN_IF_ERROR(RemoveAll(partial));
  RETURN_IF_ERROR(MakeDirs(partial));
  ChunkWriter writer(partial);
  absl::Status status = link_.FetchDataset(
      sha256, [&writer](const v1::DatasetChunk& chunk) { return writer.Take(chunk); });
  status.Update(writer.Close());
  if (status.ok()) status = CheckFetched(partial, sha256);
  if (!status.ok()) {
    RemoveAll(partial).IgnoreError();
    return status;
  }
  RETURN_IF_ERROR(SyncDir(partial));
  RETURN_IF_ERROR(RemoveAll(destination));
  RETURN_IF_ERROR(RenameFile(partial, destination));
  return SyncDir(dir_);
}

}  // namespace normlab::worker
