#include "core/dataset_prepare.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>

#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/text_encoder.h"
#include "core/token_file_writer.h"
#include "core/token_input.h"

namespace normlab {

namespace {

constexpr int64_t kChunkTokens = 1 << 19;
constexpr int64_t kByteVocab = 256;
constexpr int64_t kValShareInverse = 20;  // 5 %

absl::Status CheckName(const std::string& name) {
  const bool sound = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (!name.empty() && sound && name.front() != '.') return absl::OkStatus();
  return InvalidArgument(
      "'", name, "' cannot name a data set: letters, digits, '-', '_' and '.', no '.' first");
}

absl::StatusOr<std::vector<TokenInput>> OpenAll(const std::vector<std::string>& paths) {
  std::vector<TokenInput> inputs;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(TokenInput input, TokenInput::Open(path));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

int64_t TokensOf(const std::vector<TokenInput>& inputs) {
  int64_t tokens = 0;
  for (const TokenInput& input : inputs) tokens += input.tokens();
  return tokens;
}

// Moves all inputs through to the splits they belong to, and keeps an eye on every token.
class Copier {
 public:
  Copier(const PrepareOptions& options, int64_t bytes_total) : options_(options) {
    progress_.bytes_total = bytes_total;
  }

  // Fills `splits` one after the other.
  absl::Status Copy(std::vector<TokenInput>& inputs, const std::vector<TokenFileWriter*>& splits) {
    size_t split = 0;
    for (TokenInput& input : inputs) {
      while (input.position() < input.tokens()) {
        const int64_t first = input.position();
        ASSIGN_OR_RETURN(const std::vector<uint16_t> tokens, input.Next(kChunkTokens));
        RETURN_IF_ERROR(CheckVocab(input.path(), first, tokens));
        RETURN_IF_ERROR(Distribute(tokens, splits, split));
        progress_.bytes_done += static_cast<int64_t>(tokens.size()) * input.token_bytes();
        if (options_.progress) options_.progress(progress_);
      }
    }
    return absl::OkStatus();
  }

  int64_t largest_token() const { return largest_token_; }

 private:
  absl::Status CheckVocab(const std::string& path, int64_t first,
                          const std::vector<uint16_t>& tokens) {
    const auto largest = std::max_element(tokens.begin(), tokens.end());
    largest_token_ = std::max<int64_t>(largest_token_, *largest);
    if (options_.vocab == 0 || *largest < options_.vocab) return absl::OkStatus();
    return InvalidArgument(path, ": token ", *largest, " at position ",
                           first + (largest - tokens.begin()), " is beyond the vocabulary of ",
                           options_.vocab);
  }

  static absl::Status Distribute(const std::vector<uint16_t>& tokens,
                                 const std::vector<TokenFileWriter*>& splits, size_t& split) {
    const auto size = static_cast<int64_t>(tokens.size());
    for (int64_t done = 0; done < size;) {
      while (splits[split]->missing() == 0) ++split;
      const int64_t count = std::min(splits[split]->missing(), size - done);
      RETURN_IF_ERROR(splits[split]->Append(tokens.data() + done, count));
      done += count;
    }
    return absl::OkStatus();
  }

  const PrepareOptions& options_;
  PrepareProgress progress_;
  int64_t largest_token_ = 0;
};

struct Inputs {
  std::vector<TokenInput> train;  // and validation as well, when `val` is empty
  std::vector<TokenInput> val;
  bool text = false;
  int64_t bytes = 0;
};

absl::Status CheckKinds(Inputs& inputs) {
  inputs.text = inputs.train.front().is_text();
  for (const auto* list : {&inputs.train, &inputs.val}) {
    for (const TokenInput& input : *list) {
      inputs.bytes += input.tokens() * input.token_bytes();
      if (input.is_text() == inputs.text) continue;
      return InvalidArgument(inputs.train.front().path(), " and ", input.path(),
                             ": text and token files (.bin) cannot be one data set");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Inputs> OpenInputs(const PrepareOptions& options) {
  Inputs inputs;
  if (options.files.empty()) return InvalidArgument("no file to make a data set from");
  ASSIGN_OR_RETURN(inputs.train, OpenAll(options.files));
  ASSIGN_OR_RETURN(inputs.val, OpenAll(options.val_files));
  RETURN_IF_ERROR(CheckKinds(inputs));
  if (!inputs.text && options.encoder != nullptr) {
    return InvalidArgument(options.files.front(), ": token files need no tokenizer");
  }
  if (inputs.text && options.encoder == nullptr && options.vocab != 0 &&
      options.vocab != kByteVocab) {
    return InvalidArgument("text is taken as bytes, whose vocabulary is ", kByteVocab, ", not ",
                           options.vocab);
  }
  return inputs;
}

absl::Status TooShort(const PrepareOptions& options, int64_t size, const char* unit) {
  return InvalidArgument(options.files.front(), ": ", size, " ", unit,
                         " are too few to keep 5 % of them for validation");
}

// The shortest sequence is one token and the next one.
absl::Status CheckLengths(int64_t train_tokens, int64_t val_tokens) {
  for (const auto& [what, tokens] :
       {std::pair{"training", train_tokens}, {"validation", val_tokens}}) {
    if (tokens >= 2) continue;
    return InvalidArgument("tokens for ", what, ": ", tokens, "; should be at least 2");
  }
  return absl::OkStatus();
}

// meta.json of what was written.
absl::StatusOr<DatasetMeta> FinishSplits(const PrepareOptions& options, TokenFileWriter& train,
                                         TokenFileWriter& val) {
  DatasetMeta meta;
  meta.name = options.name;
  meta.train_tokens = train.tokens();
  meta.val_tokens = val.tokens();
  ASSIGN_OR_RETURN(meta.train_sha256, train.Finish());
  ASSIGN_OR_RETURN(meta.val_sha256, val.Finish());
  meta.sha256 = DatasetSha256(meta.train_sha256, meta.val_sha256);
  meta.unigram_entropy = UnigramEntropy(val.counts());
  return meta;
}

// Bytes of text, or tokens as they are.
absl::StatusOr<DatasetMeta> CopySplits(const PrepareOptions& options, Inputs& inputs,
                                       const std::string& dir) {
  const int64_t total = TokensOf(inputs.train);
  const int64_t val_tokens = inputs.val.empty() ? total / kValShareInverse : TokensOf(inputs.val);
  const int64_t train_tokens = inputs.val.empty() ? total - val_tokens : total;
  if (val_tokens == 0) return TooShort(options, total, "tokens");
  RETURN_IF_ERROR(CheckLengths(train_tokens, val_tokens));
  ASSIGN_OR_RETURN(auto train, TokenFileWriter::Create(JoinPath(dir, "train.bin"), train_tokens));
  ASSIGN_OR_RETURN(auto val, TokenFileWriter::Create(JoinPath(dir, "val.bin"), val_tokens));
  Copier copier(options, inputs.bytes);
  RETURN_IF_ERROR(copier.Copy(inputs.train, {&train, &val}));
  RETURN_IF_ERROR(copier.Copy(inputs.val, {&val}));
  ASSIGN_OR_RETURN(DatasetMeta meta, FinishSplits(options, train, val));
  meta.tokenizer = inputs.text ? kBytesTokenizer : kUnknownTokenizer;
  meta.vocab = inputs.text ? kByteVocab : std::max(options.vocab, copier.largest_token() + 1);
  return meta;
}

std::vector<TextSpan> Whole(const std::vector<TokenInput>& texts) {
  std::vector<TextSpan> spans;
  for (const TokenInput& text : texts) spans.push_back({text.path(), 0, text.tokens()});
  return spans;
}

// Text through the encoder.
absl::StatusOr<DatasetMeta> EncodeSplits(const PrepareOptions& options, const Inputs& inputs,
                                         const std::string& dir) {
  TextSplit split{Whole(inputs.train), Whole(inputs.val)};
  if (split.val.empty()) {
    ASSIGN_OR_RETURN(split, SplitText(Whole(inputs.train)));
  }
  if (split.train.empty() || split.val.empty()) return TooShort(options, inputs.bytes, "bytes");
  RETURN_IF_ERROR(options.encoder->Prepare(split.train));
  PrepareProgress progress{0, inputs.bytes};
  const auto encode = [&](const std::vector<TextSpan>& spans,
                          const char* name) -> absl::StatusOr<TokenFileWriter> {
    ASSIGN_OR_RETURN(auto writer, TokenFileWriter::Create(JoinPath(dir, name), 0));
    RETURN_IF_ERROR(options.encoder->Encode(
        spans, [&](std::span<const uint16_t> tokens, int64_t text_bytes) -> absl::Status {
          progress.bytes_done += text_bytes;
          if (options.progress) options.progress(progress);
          return writer.Append(tokens.data(), static_cast<int64_t>(tokens.size()));
        }));
    return writer;
  };
  ASSIGN_OR_RETURN(auto train, encode(split.train, "train.bin"));
  ASSIGN_OR_RETURN(auto val, encode(split.val, "val.bin"));
  RETURN_IF_ERROR(CheckLengths(train.tokens(), val.tokens()));
  ASSIGN_OR_RETURN(DatasetMeta meta, FinishSplits(options, train, val));
  meta.tokenizer = kSentencePieceTokenizer;
  meta.vocab = options.encoder->vocab();
  return meta;
}

absl::StatusOr<DatasetMeta> Build(const PrepareOptions& options, Inputs& inputs,
                                  const std::string& dir) {
  RETURN_IF_ERROR(MakeDirs(dir));
  DatasetMeta meta;
  nlohmann::json tokenizer;
  if (options.encoder != nullptr) {
    ASSIGN_OR_RETURN(meta, EncodeSplits(options, inputs, dir));
    ASSIGN_OR_RETURN(tokenizer, options.encoder->Keep(dir));
  } else {
    ASSIGN_OR_RETURN(meta, CopySplits(options, inputs, dir));
  }
  tokenizer["kind"] = meta.tokenizer;
  tokenizer["vocab"] = meta.vocab;
  RETURN_IF_ERROR(WriteFileDurably(JoinPath(dir, "tokenizer.json"), tokenizer.dump(2) + "\n"));
  RETURN_IF_ERROR(WriteFileDurably(JoinPath(dir, "meta.json"), ToJson(meta).dump(2) + "\n"));
  return meta;
}

std::string TemporaryPrefix(const PrepareOptions& options) {
  // A dot first: `data ls` and a crash leave it out of sight.
  return Cat(".", options.name, ".tmp");
}

// Removes what processes that are gone left behind half done.
absl::Status RemoveLeftovers(const PrepareOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDir(options.datasets_dir));
  const std::string prefix = TemporaryPrefix(options);
  for (const std::string& name : names) {
    int64_t pid = 0;
    if (!name.starts_with(prefix) || !ParseInt64(name.substr(prefix.size()), pid)) continue;
    if (kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH) continue;
    RETURN_IF_ERROR(RemoveAll(JoinPath(options.datasets_dir, name)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DatasetMeta> PrepareDataset(const PrepareOptions& options) {
  RETURN_IF_ERROR(CheckName(options.name));
  if (options.vocab < 0 || options.vocab > kMaxVocab) {
    return InvalidArgument("a vocabulary of ", options.vocab, "; should be from 1 to ", kMaxVocab);
  }
  const std::string target = JoinPath(options.datasets_dir, options.name);
  if (!options.replace && FileExists(target)) {
    return absl::AlreadyExistsError(
        Cat("there is a data set called ", options.name, " (", target, ")"));
  }
  ASSIGN_OR_RETURN(Inputs inputs, OpenInputs(options));
  RETURN_IF_ERROR(MakeDirs(options.datasets_dir));
  RETURN_IF_ERROR(RemoveLeftovers(options));
  const std::string temporary =
      JoinPath(options.datasets_dir, Cat(TemporaryPrefix(options), getpid()));
  RETURN_IF_ERROR(RemoveAll(temporary));
  auto meta = Build(options, inputs, temporary);
  if (!meta.ok()) {
    RemoveAll(temporary).IgnoreError();  // the first error is the one to tell
    return meta;
  }
  if (options.replace) RETURN_IF_ERROR(RemoveAll(target));
  RETURN_IF_ERROR(RenameFile(temporary, target));
  RETURN_IF_ERROR(SyncDir(options.datasets_dir));
  return meta;
}

}  // namespace normlab
