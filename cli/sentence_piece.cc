#include "cli/sentence_piece.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/dataset.h"
#include "core/file.h"
#include "core/little_endian.h"
#include "core/sha256.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/subprocess.h"

namespace normlab::cli {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr size_t kFrameHeader = 8;

// What is in the pipe now, at least one byte; empty when its writer closed it.
absl::StatusOr<std::string> ReadSome(int fd) {
  std::string bytes(kReadBytes, '\0');
  for (;;) {
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "pipe");
    bytes.resize(static_cast<size_t>(count));
    return bytes;
  }
}

// normlab-tokenizer at work, with what it prints and what it complains about.
class Tokenizer {
 public:
  static absl::StatusOr<Tokenizer> Start(std::vector<std::string> argv, int stdin_fd = -1) {
    ASSIGN_OR_RETURN(Pipe out, MakePipe());
    ASSIGN_OR_RETURN(Pipe err, MakePipe());
    SpawnOptions spawn;
    spawn.argv = std::move(argv);
    spawn.stdin_fd = stdin_fd;
    spawn.stdout_fd = out.write.get();
    spawn.stderr_fd = err.write.get();
    spawn.own_group = false;  // Ctrl-C ends both
    ASSIGN_OR_RETURN(auto process, Subprocess::Start(spawn));
    return Tokenizer(std::move(process), std::move(out.read), std::move(err.read));
  }

  int out() const { return out_.get(); }

  // Its end: OK, or its own words.
  absl::Status Finish() {
    std::string words;
    for (;;) {
      ASSIGN_OR_RETURN(const std::string some, ReadSome(err_.get()));
      if (some.empty()) break;
      words += some;
    }
    const ExitInfo exit = process_->Wait();
    if (exit.exit_code == 0 && exit.signal == 0) return absl::OkStatus();
    if (exit.signal != 0) {
      return absl::InternalError(Cat("normlab-tokenizer: signal ", exit.signal));
    }
    const std::string_view line = StripSpace(words);
    return InvalidArgument(line.empty() ? "normlab-tokenizer failed" : line);
  }

  // All that it prints, and then its end.
  absl::StatusOr<std::string> ReadAll() {
    std::string printed;
    for (;;) {
      ASSIGN_OR_RETURN(const std::string some, ReadSome(out()));
      if (some.empty()) break;
      printed += some;
    }
    RETURN_IF_ERROR(Finish());
    return printed;
  }

 private:
  Tokenizer(std::unique_ptr<Subprocess> process, Fd out, Fd err)
      : process_(std::move(process)), out_(std::move(out)), err_(std::move(err)) {}

  std::unique_ptr<Subprocess> process_;
  Fd out_, err_;
};

void AddSpans(const std::vector<TextSpan>& spans, std::vector<std::string>& argv) {
  for (const TextSpan& span : spans) {
    argv.insert(argv.end(), {span.path, Cat(span.first), Cat(span.last)});
  }
}

// Takes whole frames off the front of `bytes`.
absl::Status TakeFrames(std::string& bytes, const TextEncoder::Take& take) {
  size_t at = 0;
  while (bytes.size() - at >= kFrameHeader) {
    const auto text_bytes = GetLittleEndian<uint32_t>(bytes.data() + at);
    const auto count = GetLittleEndian<uint32_t>(bytes.data() + at + 4);
    if (bytes.size() - at - kFrameHeader < 2 * size_t{count}) break;
    std::vector<uint16_t> tokens(count);
    for (size_t i = 0; i < count; ++i) {
      tokens[i] = GetLittleEndian<uint16_t>(bytes.data() + at + kFrameHeader + 2 * i);
    }
    RETURN_IF_ERROR(take(tokens, text_bytes));
    at += kFrameHeader + 2 * size_t{count};
  }
  bytes.erase(0, at);
  return absl::OkStatus();
}

absl::Status Decode(const std::string& program, const std::string& model,
                    const std::function<absl::StatusOr<std::vector<uint16_t>>()>& next,
                    const std::function<void(std::string_view)>& take) {
  ASSIGN_OR_RETURN(Pipe in, MakePipe());
  ASSIGN_OR_RETURN(Tokenizer decoder, Tokenizer::Start({program, "decode", model}, in.read.get()));
  in.read.Reset();
  bool writing = true;
  for (;;) {
    // Text first: a decoder whose output nobody takes stops reading.
    pollfd ready[2] = {{decoder.out(), POLLIN, 0}, {in.write.get(), POLLOUT, 0}};
    if (poll(ready, writing ? 2 : 1, -1) < 0 && errno != EINTR) return ErrnoStatus(errno, "poll");
    if (ready[0].revents != 0) {
      ASSIGN_OR_RETURN(const std::string text, ReadSome(decoder.out()));
      if (text.empty()) return decoder.Finish();
      take(text);
    } else if (writing && ready[1].revents != 0) {
      ASSIGN_OR_RETURN(const std::vector<uint16_t> tokens, next());
      std::string bytes;
      for (const uint16_t token : tokens) PutLittleEndian(bytes, token);
      // What goes wrong here the decoder's end tells better.
      writing = !bytes.empty() && WriteAll(in.write.get(), bytes).ok();
      if (!writing) in.write.Reset();
    }
  }
}

}  // namespace

SentencePiece::SentencePiece(SentencePieceOptions options)
    : options_(std::move(options)), model_(options_.model) {}

SentencePiece::~SentencePiece() {
  if (options_.model.empty() && !model_.empty()) RemoveAll(model_).IgnoreError();
}

absl::Status SentencePiece::Prepare(const std::vector<TextSpan>& training) {
  if (options_.model.empty()) {
    model_ = JoinPath(options_.learn_dir, Cat(".model.tmp", getpid()));
    std::vector<std::string> argv = {options_.program, "learn", model_, Cat(options_.vocab)};
    AddSpans(training, argv);
    ASSIGN_OR_RETURN(Tokenizer learner, Tokenizer::Start(std::move(argv)));
    RETURN_IF_ERROR(learner.ReadAll());
  }
  ASSIGN_OR_RETURN(Tokenizer asked, Tokenizer::Start({options_.program, "vocab", model_}));
  ASSIGN_OR_RETURN(const std::string answer, asked.ReadAll());
  if (ParseInt64(StripSpace(answer), vocab_)) return absl::OkStatus();
  return absl::InternalError(Cat("normlab-tokenizer gave a vocabulary of '", answer, "'"));
}

absl::Status SentencePiece::Encode(const std::vector<TextSpan>& spans, const Take& take) {
  std::vector<std::string> argv = {options_.program, "encode", model_};
  AddSpans(spans, argv);
  ASSIGN_OR_RETURN(Tokenizer encoder, Tokenizer::Start(std::move(argv)));
  std::string bytes;
  for (;;) {
    ASSIGN_OR_RETURN(const std::string some, ReadSome(encoder.out()));
    if (some.empty()) break;
    bytes += some;
    RETURN_IF_ERROR(TakeFrames(bytes, take));
  }
  RETURN_IF_ERROR(encoder.Finish());
  if (bytes.empty()) return absl::OkStatus();
  return absl::InternalError("normlab-tokenizer ended inside a frame");
}

absl::StatusOr<nlohmann::json> SentencePiece::Keep(const std::string& dir) const {
  ASSIGN_OR_RETURN(const std::string model, ReadFile(model_));
  RETURN_IF_ERROR(WriteFileDurably(JoinPath(dir, kTokenizerModelFile), model));
  return nlohmann::json{{"model", kTokenizerModelFile}, {"model_sha256", Sha256Hex(model)}};
}

absl::Status DecodeSentencePiece(const std::string& program, const std::string& model,
                                 const std::function<absl::StatusOr<std::vector<uint16_t>>()>& next,
                                 const std::function<void(std::string_view)>& take) {
  // A decoder that ended early says so by its exit code, not by a signal to us.
  const auto before = signal(SIGPIPE, SIG_IGN);
  const absl::Status status = Decode(program, model, next, take);
  signal(SIGPIPE, before);
  return status;
}

}  // namespace normlab::cli
