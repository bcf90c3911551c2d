#include "core/dataset.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/little_endian.h"
#include "core/sha256.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab {

namespace {

using nlohmann::json;

constexpr int64_t kReadTokens = 1 << 19;

absl::StatusOr<DatasetMeta> MetaFromJson(std::string_view text) {
  ASSIGN_OR_RETURN(const json document, ParseJson(text));
  DatasetMeta meta;
  ASSIGN_OR_RETURN(meta.name, JsonText(document, "name"));
  ASSIGN_OR_RETURN(meta.vocab, JsonInt(document, "vocab"));
  ASSIGN_OR_RETURN(meta.train_tokens, JsonInt(document, "train_tokens"));
  ASSIGN_OR_RETURN(meta.val_tokens, JsonInt(document, "val_tokens"));
  ASSIGN_OR_RETURN(meta.tokenizer, JsonText(document, "tokenizer"));
  ASSIGN_OR_RETURN(meta.sha256, JsonText(document, "sha256"));
  ASSIGN_OR_RETURN(meta.train_sha256, JsonText(document, "train_sha256"));
  ASSIGN_OR_RETURN(meta.val_sha256, JsonText(document, "val_sha256"));
  ASSIGN_OR_RETURN(meta.unigram_entropy, JsonReal(document, "unigram_entropy"));
  return meta;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

absl::Status CheckVocab(const DatasetMeta& meta) {
  if (meta.vocab >= 1 && meta.vocab <= kMaxVocab) return absl::OkStatus();
  return DataLoss("meta.json: a vocabulary of ", meta.vocab, "; should be from 1 to ", kMaxVocab);
}

absl::Status CheckSplit(const std::string& dir, const char* name, int64_t tokens, int64_t seq_len) {
  ASSIGN_OR_RETURN(const TokenFile file, TokenFile::Open(JoinPath(dir, name)));
  if (file.tokens() != tokens) {
    return DataLoss(name, " has ", file.tokens(), " tokens, but meta.json says ", tokens);
  }
  if (tokens >= seq_len + 1) return absl::OkStatus();
  return InvalidArgument(name, " has ", tokens, " tokens, too few for one sequence of ", seq_len,
                         " and its next token");
}

absl::Status CheckTokens(const std::string& dir, const char* name, int64_t vocab,
                         const std::string& sha256) {
  const std::string path = JoinPath(dir, name);
  ASSIGN_OR_RETURN(const TokenFile file, TokenFile::Open(path));
  for (int64_t first = 0; first < file.tokens(); first += kReadTokens) {
    const int64_t count = std::min(kReadTokens, file.tokens() - first);
    ASSIGN_OR_RETURN(const std::vector<uint16_t> tokens, file.Read(first, count));
    const auto beyond = std::find_if(tokens.begin(), tokens.end(),
                                     [vocab](uint16_t token) { return token >= vocab; });
    if (beyond != tokens.end()) {
      return DataLoss(name, ": token ", *beyond, " at position ", first + (beyond - tokens.begin()),
                      " is beyond the vocabulary of ", vocab);
    }
  }
  ASSIGN_OR_RETURN(const std::string found, Sha256File(path));
  if (found == sha256) return absl::OkStatus();
  return DataLoss(name, ": its content has changed since it was prepared (SHA-256 ",
                  found.substr(0, 12), "…, meta.json says ", sha256.substr(0, 12), "…)");
}

}  // namespace

std::string DatasetSha256(const std::string& train_sha256, const std::string& val_sha256) {
  return Sha256Hex(Cat("normlab.dataset.v1\ntrain ", train_sha256, "\nval ", val_sha256, "\n"));
}

json ToJson(const DatasetMeta& meta) {
  return {{"name", meta.name},
          {"vocab", meta.vocab},
          {"train_tokens", meta.train_tokens},
          {"val_tokens", meta.val_tokens},
          {"tokenizer", meta.tokenizer},
          {"sha256", meta.sha256},
          {"train_sha256", meta.train_sha256},
          {"val_sha256", meta.val_sha256},
          {"unigram_entropy", meta.unigram_entropy}};
}

absl::StatusOr<DatasetMeta> ReadDatasetMeta(const std::string& dir) {
  const std::string path = JoinPath(dir, "meta.json");
  const auto text = ReadFile(path);
  if (absl::IsNotFound(text.status())) {
    return NotFound("no data set in ", dir, " (make one with `normlab data prepare`)");
  }
  RETURN_IF_ERROR(text);
  auto meta = MetaFromJson(*text);
  if (!meta.ok()) return AddContext(meta.status(), path);
  return meta;
}

absl::StatusOr<std::string> TokenFileHeader(int64_t tokens) {
  if (tokens < 0 || tokens > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument(tokens,
                           " tokens are more than a token file's header can say (2^31 − 1)");
  }
  std::string header;
  for (int64_t value : {int64_t{kTokenFileMagic}, int64_t{kTokenFileVersion}, tokens}) {
    PutLittleEndian(header, static_cast<uint32_t>(value));
  }
  header.resize(kTokenFileHeaderBytes, '\0');
  return header;
}

TokenFile::TokenFile(std::string path, Fd fd, int64_t tokens)
    : path_(std::move(path)), fd_(std::move(fd)), tokens_(tokens) {}

absl::StatusOr<TokenFile> TokenFile::Open(const std::string& path) {
  const std::string name = BaseName(path);
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_RDONLY));
  ASSIGN_OR_RETURN(const std::string header, ReadAt(fd.get(), 0, kTokenFileHeaderBytes));
  if (static_cast<int64_t>(header.size()) < kTokenFileHeaderBytes) {
    return DataLoss(name, ": too short for a token file's header (", header.size(), " bytes)");
  }
  const auto field = [&header](size_t i) {
    return static_cast<int32_t>(GetLittleEndian<uint32_t>(header.data() + 4 * i));
  };
  if (field(0) != kTokenFileMagic) {
    return DataLoss(name, ": not a token file (magic ", field(0), "; should be ", kTokenFileMagic,
                    ")");
  }
  if (field(1) != kTokenFileVersion) {
    return DataLoss(name, ": a token file of version ", field(1), "; should be ",
                    kTokenFileVersion);
  }
  const int64_t tokens = field(2);
  ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  const int64_t expected = kTokenFileHeaderBytes + 2 * tokens;
  if (tokens < 0 || static_cast<int64_t>(size) != expected) {
    return DataLoss(name, ": its header says ", tokens, " tokens (", expected,
                    " bytes), but the file has ", size, " bytes");
  }
  return TokenFile(path, std::move(fd), tokens);
}

absl::Status TokenFile::Read(int64_t first, int64_t count, uint16_t* out) const {
  if (first < 0 || count < 0 || first > tokens_ - count) {
    return absl::OutOfRangeError(Cat(path_, ": tokens ", first, " to ", first + count,
                                     " asked for, but there are ", tokens_));
  }
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadAt(fd_.get(), static_cast<uint64_t>(kTokenFileHeaderBytes + 2 * first),
                          static_cast<size_t>(2 * count)));
  if (static_cast<int64_t>(bytes.size()) < 2 * count) {
    return DataLoss(path_, ": shorter than when it was opened");
  }
  for (int64_t i = 0; i < count; ++i) out[i] = GetLittleEndian<uint16_t>(bytes.data() + 2 * i);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint16_t>> TokenFile::Read(int64_t first, int64_t count) const {
  std::vector<uint16_t> tokens(static_cast<size_t>(std::max<int64_t>(count, 0)));
  RETURN_IF_ERROR(Read(first, count, tokens.data()));
  return tokens;
}

absl::Status CheckForTraining(const std::string& dir, const DatasetMeta& meta, int64_t seq_len) {
  const absl::Status status = [&] {
    RETURN_IF_ERROR(CheckVocab(meta));
    RETURN_IF_ERROR(CheckSplit(dir, "train.bin", meta.train_tokens, seq_len));
    return CheckSplit(dir, "val.bin", meta.val_tokens, seq_len);
  }();
  return AddContext(status, Cat("data set ", meta.name));
}

absl::Status CheckDataset(const std::string& dir) {
  ASSIGN_OR_RETURN(const DatasetMeta meta, ReadDatasetMeta(dir));
  const absl::Status status = [&] {
    RETURN_IF_ERROR(CheckForTraining(dir, meta, 1));
    RETURN_IF_ERROR(CheckTokens(dir, "train.bin", meta.vocab, meta.train_sha256));
    RETURN_IF_ERROR(CheckTokens(dir, "val.bin", meta.vocab, meta.val_sha256));
    if (meta.sha256 == DatasetSha256(meta.train_sha256, meta.val_sha256)) return absl::OkStatus();
    return DataLoss("meta.json: sha256 does not follow from train_sha256 and val_sha256");
  }();
  return AddContext(status, dir);
}

}  // namespace normlab
