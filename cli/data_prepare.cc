#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "cli/data.h"
#include "cli/sentence_piece.h"
#include "cli/siblings.h"
#include "core/dataset.h"
#include "core/dataset_prepare.h"
#include "core/file.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

constexpr int kPrepareBarWidth = 30;

double Mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// A bar, redrawn in place on a terminal, and what it came to, in one line anywhere.
class ProgressLine {
 public:
  explicit ProgressLine(Context& context)
      : context_(context), start_(context.clock->MonotonicNow()) {}
  ~ProgressLine() { Clear(); }

  void Draw(const PrepareProgress& progress) {
    last_ = progress;
    if (!context_.err_is_terminal || progress.bytes_total == 0) return;
    const double share =
        static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_total);
    const int filled = static_cast<int>(share * kPrepareBarWidth);
    *context_.err << absl::StrFormat("\r\x1b[K[%s%s] %3.0f %%  %.0f MiB  %.0f MiB/s",
                                     std::string(filled, '#'),
                                     std::string(kPrepareBarWidth - filled, '.'), 100 * share,
                                     Mebibytes(progress.bytes_done), Rate());
    context_.err->flush();
    drawn_ = true;
  }

  void Summarise(const std::string& name) {
    Clear();
    if (context_.mode == OutputMode::kQuiet) return;
    *context_.err << absl::StrFormat("%s: %.1f MiB in %.1f s, %.0f MiB/s\n", name,
                                     Mebibytes(last_.bytes_done), Seconds(), Rate());
  }

 private:
  double Seconds() const { return absl::ToDoubleSeconds(context_.clock->MonotonicNow() - start_); }
  double Rate() const { return Seconds() > 0 ? Mebibytes(last_.bytes_done) / Seconds() : 0; }
  void Clear() {
    if (drawn_) *context_.err << "\r\x1b[K";
    drawn_ = false;
  }

  Context& context_;
  absl::Time start_;
  PrepareProgress last_;
  bool drawn_ = false;
};

struct PrepareArguments {
  PrepareOptions prepare;
  std::string tokenizer = kBytesTokenizer;
};

absl::StatusOr<DatasetMeta> Prepare(Context& context, PrepareArguments& arguments) {
  PrepareOptions& options = arguments.prepare;
  ASSIGN_OR_RETURN(const DataFolder folder, FolderOf(context));
  options.datasets_dir = folder.Datasets();
  RETURN_IF_ERROR(MakeDirs(options.datasets_dir));
  std::unique_ptr<SentencePiece> encoder;
  if (arguments.tokenizer != kBytesTokenizer) {
    SentencePieceOptions given;
    given.program = TokenizerPath(context.program);
    given.learn_dir = options.datasets_dir;
    if (arguments.tokenizer != kSentencePieceTokenizer) {
      given.model = arguments.tokenizer;
      if (options.vocab != 0) {
        return InvalidArgument("--vocab is the size of a model to learn; ", given.model,
                               " is a model that has its own");
      }
    }
    if (options.vocab != 0) given.vocab = options.vocab;
    encoder = std::make_unique<SentencePiece>(std::move(given));
    options.encoder = encoder.get();
  }
  ProgressLine progress(context);
  options.progress = [&progress](const PrepareProgress& now) { progress.Draw(now); };
  ASSIGN_OR_RETURN(DatasetMeta meta, PrepareDataset(options));
  progress.Summarise(options.name);
  return meta;
}

void RunPrepare(Context& context, PrepareArguments arguments) {
  const absl::StatusOr<DatasetMeta> meta = Prepare(context, arguments);
  if (!meta.ok()) {
    return Fail(context, meta.status(),
                absl::IsAlreadyExists(meta.status()) ? "--replace makes it anew" : "");
  }
  PrintDatasets(context, nlohmann::json::array({ToJson(*meta)}));
}

}  // namespace

void AddDataPrepare(CLI::App* data, Context& context) {
  CLI::App* verb =
      AddSubcommand(*data, "prepare", "Make a data set of text or token files",
                    {"normlab data prepare kjv bible.txt",
                     "normlab data prepare kjv4k bible.txt --tokenizer sentencepiece --vocab 4096",
                     "normlab data prepare wiki wiki.txt --val heldout.txt --tokenizer llama.model",
                     "normlab data prepare owt train.bin --val val.bin --vocab 50257"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto arguments = std::make_shared<PrepareArguments>();
  PrepareOptions& options = arguments->prepare;
  verb->add_option("NAME", options.name, "name of the data set, as data.name says it")->required();
  verb->add_option("FILE", options.files, "text, or token files *.bin as of nanoGPT or llm.c")
      ->required();
  verb->add_option("--val", options.val_files,
                   "files for validation (default: the last 5 % of FILE)");
  verb->add_option("--tokenizer", arguments->tokenizer,
                   "of text: bytes (default), sentencepiece (a model is learned from FILE), or a "
                   "SentencePiece model's file")
      ->type_name("NAME|MODEL");
  verb->add_option("--vocab", options.vocab,
                   "size of the vocabulary: of token files, or of the model to learn (8192)")
      ->type_name("N");
  verb->add_flag("--replace", options.replace, "replace a data set of this name");
  verb->callback([&context, arguments] { RunPrepare(context, *arguments); });
}

}  // namespace normlab::cli
