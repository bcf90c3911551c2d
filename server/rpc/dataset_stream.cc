#include "server/rpc/dataset_stream.h"

#include <fcntl.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/dataset.h"
#include "core/file.h"
#include "core/status.h"

namespace normlab::server {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
// meta.json first: the receiver has the digests of the others before they come.
constexpr const char* kFiles[] = {"meta.json", "tokenizer.json", kTokenizerModelFile, "train.bin",
                                  "val.bin"};

absl::StatusOr<std::string> FindByDigest(const std::string& datasets_dir,
                                         const std::string& sha256) {
  ASSIGN_OR_RETURN(const auto names, ListDir(datasets_dir));
  for (const std::string& name : names) {
    const std::string dir = JoinPath(datasets_dir, name);
    const auto meta = ReadDatasetMeta(dir);
    if (meta.ok() && meta->sha256 == sha256) return dir;
  }
  return absl::NotFoundError(absl::StrCat("no data set here has SHA-256 ", sha256));
}

// False when the receiver is gone.
absl::StatusOr<bool> StreamFile(const std::string& dir, const std::string& name,
                                absl::FunctionRef<bool(const v1::DatasetChunk&)> send) {
  const std::string path = JoinPath(dir, name);
  ASSIGN_OR_RETURN(const Fd fd, OpenFd(path, O_RDONLY));
  ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  uint64_t offset = 0;
  do {
    v1::DatasetChunk chunk;
    chunk.set_file(name);
    chunk.set_offset(offset);
    chunk.set_file_size(size);
    ASSIGN_OR_RETURN(*chunk.mutable_data(), ReadAt(fd.get(), offset, kChunkBytes));
    if (chunk.data().empty() && offset < size) {
      return absl::DataLossError(absl::StrCat(path, " became shorter while it was read"));
    }
    offset += chunk.data().size();
    if (!send(chunk)) return false;
  } while (offset < size);
  return true;
}

}  // namespace

absl::Status StreamDataset(const std::string& datasets_dir, const std::string& sha256,
                           absl::FunctionRef<bool(const v1::DatasetChunk&)> send) {
  ASSIGN_OR_RETURN(const std::string dir, FindByDigest(datasets_dir, sha256));
  for (const char* name : kFiles) {
    if (!FileExists(JoinPath(dir, name))) continue;
    ASSIGN_OR_RETURN(const bool wanted, StreamFile(dir, name, send));
    if (!wanted) return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace normlab::server
