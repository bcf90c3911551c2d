#ifndef NORMLAB_CORE_DATASET_H_
#define NORMLAB_CORE_DATASET_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/file.h"

// A prepared data set: DIR/{train.bin,val.bin,tokenizer.json,meta.json}, and tokenizer.model where
// the tokens are SentencePiece's. A token file is a header (token_header.h) and the tokens as
// little-endian uint16.

namespace normlab {

inline constexpr int64_t kMaxVocab = 65536;
inline constexpr char kTokenizerModelFile[] = "tokenizer.model";
inline constexpr char kBytesTokenizer[] = "bytes";
inline constexpr char kSentencePieceTokenizer[] = "sentencepiece";
inline constexpr char kUnknownTokenizer[] = "unknown";  // token files that somebody else made

struct DatasetMeta {
  std::string name;
  int64_t vocab = 0;
  int64_t train_tokens = 0;
  int64_t val_tokens = 0;
  std::string tokenizer;  // one of the names above
  // Identity of the data set: Sha256Hex of the text
  //   "normlab.dataset.v1\ntrain <sha256 of train.bin>\nval <sha256 of val.bin>\n".
  std::string sha256;
  std::string train_sha256;
  std::string val_sha256;
  double unigram_entropy = 0;  // of val.bin, nats: what a model without context could reach at best
  friend bool operator==(const DatasetMeta&, const DatasetMeta&) = default;
};

std::string DatasetSha256(const std::string& train_sha256, const std::string& val_sha256);

nlohmann::json ToJson(const DatasetMeta& meta);
absl::StatusOr<DatasetMeta> ReadDatasetMeta(const std::string& dir);

// Random access to a token file. Const access is thread-safe (pread).
class TokenFile {
 public:
  // Checks the header and that the file is as long as it says. DataLoss in one line: "train.bin:
  // its header says 100 tokens, but the 1210 bytes of the file hold 93".
  static absl::StatusOr<TokenFile> Open(const std::string& path);

  int64_t tokens() const { return tokens_; }

  // Tokens [first, first + count). OutOfRange beyond the end.
  absl::Status Read(int64_t first, int64_t count, uint16_t* out) const;
  absl::StatusOr<std::vector<uint16_t>> Read(int64_t first, int64_t count) const;

 private:
  TokenFile(std::string path, Fd fd, int64_t tokens);
  std::string path_;
  Fd fd_;
  int64_t tokens_;
};

// What a run asks of a data set, by meta.json alone: a vocabulary within 65,536 and within the
// model's `model_vocab` rows, at least one sequence of seq_len + 1 tokens in either file.
// InvalidArgument or DataLoss in one line.
absl::Status CheckFits(const DatasetMeta& meta, int64_t seq_len, int64_t model_vocab);

// What a run asks before it trains: CheckFits, and both files whole. Cheap: reads headers only.
absl::Status CheckForTraining(const std::string& dir, const DatasetMeta& meta, int64_t seq_len,
                              int64_t model_vocab);

// `data check`: everything against meta.json: counts, checksums (the tokenizer's model included),
// every token below the vocabulary. Reads all of it. DataLoss names the file and what is wrong.
absl::Status CheckDataset(const std::string& dir);

}  // namespace normlab

#endif  // NORMLAB_CORE_DATASET_H_
