#include "model/safetensors.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/status.h"

namespace normlab::model {
namespace {

using nlohmann::json;

constexpr std::pair<at::ScalarType, const char*> kTypes[] = {
    {at::kDouble, "F64"}, {at::kFloat, "F32"}, {at::kBFloat16, "BF16"}, {at::kLong, "I64"}};

const char* TypeName(at::ScalarType type) {
  for (const auto& [scalar, name] : kTypes) {
    if (scalar == type) return name;
  }
  CHECK(false) << "no safetensors type for " << static_cast<int>(type);
  return "";
}

absl::StatusOr<at::ScalarType> TypeOf(const std::string& text) {
  for (const auto& [scalar, name] : kTypes) {
    if (text == name) return scalar;
  }
  return absl::InvalidArgumentError("a tensor has the type " + text + ", which we do not read");
}

std::string EncodeHeader(const std::vector<NamedTensor>& tensors) {
  json header = json::object();
  int64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const int64_t end = offset + static_cast<int64_t>(tensor.value.nbytes());
    header[tensor.name] = {{"dtype", TypeName(tensor.value.scalar_type())},
                           {"shape", tensor.value.sizes().vec()},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = DumpStrict(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + text;
}

absl::StatusOr<at::Tensor> DecodeTensor(const json& entry, std::string_view data) {
  ASSIGN_OR_RETURN(const std::string type_name, JsonText(entry, "dtype"));
  ASSIGN_OR_RETURN(const at::ScalarType type, TypeOf(type_name));
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
  at::Tensor tensor = at::empty(shape, type);
  if (offsets.size() != 2 || offsets[1] > data.size() || offsets[0] > offsets[1] ||
      offsets[1] - offsets[0] != tensor.nbytes()) {
    return absl::DataLossError("a tensor's place does not fit its shape or the file");
  }
  std::memcpy(tensor.data_ptr(), data.data() + offsets[0], tensor.nbytes());
  return tensor;
}

absl::StatusOr<FileDigest> WriteTensors(const std::string& path,
                                        const std::vector<NamedTensor>& tensors) {
  ASSIGN_OR_RETURN(const Fd fd, OpenFd(path, O_WRONLY | O_CREAT | O_TRUNC));
  Sha256 sha;
  FileDigest digest;
  const auto write = [&](std::string_view bytes) {
    sha.Update(bytes);
    digest.bytes += static_cast<int64_t>(bytes.size());
    return AddContext(WriteAll(fd.get(), bytes), path);
  };
  RETURN_IF_ERROR(write(EncodeHeader(tensors)));
  for (const NamedTensor& tensor : tensors) {
    const at::Tensor dense = tensor.value.detach().cpu().contiguous();
    RETURN_IF_ERROR(write({static_cast<const char*>(dense.data_ptr()), dense.nbytes()}));
  }
  // A pipe has nothing to sync.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return ErrnoStatus(errno, path);
  digest.sha256 = sha.HexDigest();
  return digest;
}

}  // namespace

absl::StatusOr<FileDigest> WriteSafetensors(const std::string& path,
                                            const std::vector<NamedTensor>& tensors) {
  // A file is written under another name and renamed, so that whoever has the old one mapped keeps
  // it whole; a pipe or a device is what it is.
  std::error_code absent;
  const bool renames = !FileExists(path) || std::filesystem::is_regular_file(path, absent);
  const std::string target = renames ? path + ".partial" : path;
  ASSIGN_OR_RETURN(const FileDigest digest, WriteTensors(target, tensors));
  if (renames) RETURN_IF_ERROR(RenameFile(target, path));
  return digest;
}

absl::StatusOr<std::map<std::string, at::Tensor>> ReadSafetensors(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  uint64_t length = 0;
  if (bytes.size() < sizeof length) return absl::DataLossError(path + ": shorter than its header");
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length) {
    return absl::DataLossError(path + ": its header is cut short");
  }
  const std::string_view text(bytes.data() + sizeof length, length);
  const std::string_view data(bytes.data() + sizeof length + length,
                              bytes.size() - sizeof length - length);
  ASSIGN_OR_RETURN(const json header, ParseJson(text));
  std::map<std::string, at::Tensor> tensors;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      absl::StatusOr<at::Tensor> tensor = DecodeTensor(entry, data);
      if (!tensor.ok()) return AddContext(tensor.status(), absl::StrCat(path, ": ", name));
      tensors.emplace(name, *std::move(tensor));
    }
  } catch (const json::exception& error) {
    return absl::DataLossError(path + ": its header is no safetensors header: " + error.what());
  }
  return tensors;
}

}  // namespace normlab::model
