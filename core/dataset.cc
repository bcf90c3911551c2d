#include "core/dataset.h"

#include <fcntl.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/little_endian.h"
#include "core/sha256.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/token_header.h"

namespace normlab {

namespace {

using nlohmann::json;

constexpr int64_t kReadTokens = 1 << 19;

absl::StatusOr<DatasetMeta> MetaFromJson(std::string_view text) {
  ASSIGN_OR_RETURN(const json document, ParseJson(text));
  DatasetMeta meta;
  RETURN_IF_ERROR(ReadMembers(document, {{"name", &meta.name},
                                         {"vocab", &meta.vocab},
                                         {"train_tokens", &meta.train_tokens},
                                         {"val_tokens", &meta.val_tokens},
                                         {"tokenizer", &meta.tokenizer},
                                         {"sha256", &meta.sha256},
                                         {"train_sha256", &meta.train_sha256},
                                         {"val_sha256", &meta.val_sha256},
                                         {"unigram_entropy", &meta.unigram_entropy}}));
  return meta;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What is asked of either file, by meta.json.
absl::Status CheckLength(const char* name, int64_t tokens, int64_t seq_len) {
  if (tokens >= seq_len + 1) return absl::OkStatus();
  return InvalidArgument(name, " has ", tokens, " tokens, too few for one sequence of ", seq_len,
                         " and its next token");
}

absl::Status CheckWhole(const std::string& dir, const char* name, int64_t tokens) {
  ASSIGN_OR_RETURN(const TokenFile file, TokenFile::Open(JoinPath(dir, name)));
  if (file.tokens() == tokens) return absl::OkStatus();
  return DataLoss(name, " has ", file.tokens(), " tokens, but meta.json says ", tokens);
}

absl::Status CheckSha256(const std::string& dir, const char* name, const std::string& sha256) {
  ASSIGN_OR_RETURN(const std::string found, Sha256File(JoinPath(dir, name)));
  if (found == sha256) return absl::OkStatus();
  return DataLoss(name, ": its content has changed since it was prepared (SHA-256 ",
                  found.substr(0, 12), "…, expected was ", sha256.substr(0, 12), "…)");
}

// The model that decodes the tokens, by the digest that tokenizer.json keeps.
absl::Status CheckTokenizer(const std::string& dir, const DatasetMeta& meta) {
  if (meta.tokenizer != kSentencePieceTokenizer) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(JoinPath(dir, "tokenizer.json")));
  const auto sha256 = [&]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const json document, ParseJson(text));
    return JsonText(document, "model_sha256");
  }();
  if (!sha256.ok()) return AddContext(sha256.status(), "tokenizer.json");
  return CheckSha256(dir, kTokenizerModelFile, *sha256);
}

absl::Status CheckTokens(const std::string& dir, const char* name, int64_t vocab,
                         const std::string& sha256) {
  ASSIGN_OR_RETURN(const TokenFile file, TokenFile::Open(JoinPath(dir, name)));
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
  return CheckSha256(dir, name, sha256);
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

TokenFile::TokenFile(std::string path, Fd fd, int64_t tokens)
    : path_(std::move(path)), fd_(std::move(fd)), tokens_(tokens) {}

absl::StatusOr<TokenFile> TokenFile::Open(const std::string& path) {
  const std::string name = BaseName(path);
  ASSIGN_OR_RETURN(Fd fd, OpenFd(path, O_RDONLY));
  ASSIGN_OR_RETURN(const std::string header, ReadAt(fd.get(), 0, kTokenFileHeaderBytes));
  ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  const auto tokens = TokenCount(header, static_cast<int64_t>(size));
  if (!tokens.ok()) return DataLoss(name, ": ", tokens.status().message());
  return TokenFile(path, std::move(fd), *tokens);
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

absl::Status CheckFits(const DatasetMeta& meta, int64_t seq_len, int64_t model_vocab) {
  const absl::Status status = [&]() -> absl::Status {
    if (meta.vocab < 1 || meta.vocab > kMaxVocab) {
      return DataLoss("meta.json: a vocabulary of ", meta.vocab, "; should be from 1 to ",
                      kMaxVocab);
    }
    if (meta.vocab > model_vocab) {
      return InvalidArgument("its vocabulary of ", meta.vocab, " is larger than model.vocab, ",
                             model_vocab);
    }
    RETURN_IF_ERROR(CheckLength("train.bin", meta.train_tokens, seq_len));
    return CheckLength("val.bin", meta.val_tokens, seq_len);
  }();
  return AddContext(status, Cat("data set ", meta.name));
}

absl::Status CheckForTraining(const std::string& dir, const DatasetMeta& meta, int64_t seq_len,
                              int64_t model_vocab) {
  RETURN_IF_ERROR(CheckFits(meta, seq_len, model_vocab));
  absl::Status status = CheckWhole(dir, "train.bin", meta.train_tokens);
  if (status.ok()) status = CheckWhole(dir, "val.bin", meta.val_tokens);
  return AddContext(status, Cat("data set ", meta.name));
}

absl::Status CheckDataset(const std::string& dir) {
  ASSIGN_OR_RETURN(const DatasetMeta meta, ReadDatasetMeta(dir));
  const absl::Status status = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckForTraining(dir, meta, /*seq_len=*/1, kMaxVocab));
    RETURN_IF_ERROR(CheckTokens(dir, "train.bin", meta.vocab, meta.train_sha256));
    RETURN_IF_ERROR(CheckTokens(dir, "val.bin", meta.vocab, meta.val_sha256));
    RETURN_IF_ERROR(CheckTokenizer(dir, meta));
    if (meta.sha256 == DatasetSha256(meta.train_sha256, meta.val_sha256)) return absl::OkStatus();
    return DataLoss("meta.json: sha256 does not follow from train_sha256 and val_sha256");
  }();
  return AddContext(status, dir);
}

}  // namespace normlab
