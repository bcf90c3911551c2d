#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "cli/verbs.h"
#include "core/data_folder.h"
#include "core/dataset.h"
#include "core/dataset_prepare.h"
#include "core/file.h"
#include "core/status.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

absl::StatusOr<DataFolder> Folder(const Context& context) {
  ASSIGN_OR_RETURN(std::string dir, DataFolderPath(context.data, ProcessEnv()));
  return DataFolder(std::move(dir));
}

// Redraws one line on a terminal; silent elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(Context& context)
      : context_(context), start_(context.clock->MonotonicNow()) {}
  ~ProgressLine() {
    if (drawn_) *context_.err << "\r\x1b[K";
  }

  void Draw(const PrepareProgress& progress) {
    if (!context_.out_is_terminal || progress.bytes_total == 0) return;
    const double seconds = absl::ToDoubleSeconds(context_.clock->MonotonicNow() - start_);
    const double mib = static_cast<double>(progress.bytes_done) / (1 << 20);
    *context_.err << absl::StrFormat("\r\x1b[K%3.0f %%  %.0f MiB  %.0f MiB/s",
                                     100.0 * static_cast<double>(progress.bytes_done) /
                                         static_cast<double>(progress.bytes_total),
                                     mib, seconds > 0 ? mib / seconds : 0.0);
    context_.err->flush();
    drawn_ = true;
  }

 private:
  Context& context_;
  absl::Time start_;
  bool drawn_ = false;
};

void PrintMetas(Context& context, json rows) {
  const json document = {{"schema", "normlab.data.v1"}, {"datasets", rows}};
  Print(context, document, rows,
        {{"name", "data set"},
         {"vocab", "vocabulary", Align::kRight},
         {"train_tokens", "train tokens", Align::kRight},
         {"val_tokens", "validation tokens", Align::kRight},
         {"tokenizer", "tokenizer"},
         {"sha256", "sha256"}},
        "name");
}

void RunPrepare(Context& context, PrepareOptions options) {
  absl::StatusOr<DataFolder> folder = Folder(context);
  if (!folder.ok()) return Fail(context, folder.status());
  options.datasets_dir = folder->Datasets();
  if (absl::Status status = MakeDirs(options.datasets_dir); !status.ok()) {
    return Fail(context, status);
  }
  absl::StatusOr<DatasetMeta> meta = absl::UnknownError("");
  {
    ProgressLine progress(context);
    options.progress = [&progress](const PrepareProgress& now) { progress.Draw(now); };
    meta = PrepareDataset(options);
  }
  if (!meta.ok()) {
    return Fail(context, meta.status(),
                absl::IsAlreadyExists(meta.status()) ? "--replace makes it anew" : "");
  }
  PrintMetas(context, json::array({ToJson(*meta)}));
}

absl::StatusOr<std::vector<std::string>> DatasetNames(const DataFolder& folder) {
  if (!IsDir(folder.Datasets())) return std::vector<std::string>();
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDir(folder.Datasets()));
  std::erase_if(names, [](const std::string& name) { return name[0] == '.'; });
  return names;
}

void RunDataLs(Context& context) {
  absl::StatusOr<DataFolder> folder = Folder(context);
  if (!folder.ok()) return Fail(context, folder.status());
  absl::StatusOr<std::vector<std::string>> names = DatasetNames(*folder);
  if (!names.ok()) return Fail(context, names.status());
  json rows = json::array();
  for (const std::string& name : *names) {
    absl::StatusOr<DatasetMeta> meta = ReadDatasetMeta(folder->Dataset(name));
    if (!meta.ok()) {
      Fail(context, meta.status());
      context.exit_code = kExitPartial;
      continue;
    }
    rows.push_back(ToJson(*meta));
  }
  if (rows.empty() && context.mode == OutputMode::kTable) {
    *context.err << "No data sets yet. Make one with: normlab data prepare NAME FILE\n";
    return;
  }
  PrintMetas(context, std::move(rows));
}

void RunCheck(Context& context, std::vector<std::string> names) {
  absl::StatusOr<DataFolder> folder = Folder(context);
  if (!folder.ok()) return Fail(context, folder.status());
  if (names.empty()) {
    absl::StatusOr<std::vector<std::string>> all = DatasetNames(*folder);
    if (!all.ok()) return Fail(context, all.status());
    names = *std::move(all);
  }
  json rows = json::array();
  absl::Status first_failure;
  for (const std::string& name : names) {
    const absl::Status status = CheckDataset(folder->Dataset(name));
    first_failure.Update(status);
    rows.push_back(
        {{"name", name}, {"ok", status.ok()}, {"message", std::string(status.message())}});
  }
  const json document = {{"schema", "normlab.data_check.v1"}, {"datasets", rows}};
  Print(context, document, rows, {{"name", "data set"}, {"ok", "ok"}, {"message", "what is wrong"}},
        "name");
  context.exit_code = ExitCodeOf(first_failure);
}

void AddPrepare(CLI::App* data, Context& context) {
  CLI::App* verb =
      AddSubcommand(*data, "prepare", "Make a data set of text or token files",
                    {"normlab data prepare kjv bible.txt",
                     "normlab data prepare owt train.bin --val val.bin --vocab 50257"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto options = std::make_shared<PrepareOptions>();
  verb->add_option("NAME", options->name, "name of the data set, as data.name says it")->required();
  verb->add_option("FILE", options->files,
                   "text (taken as bytes), or token files *.bin as of nanoGPT or llm.c")
      ->required();
  verb->add_option("--val", options->val_files,
                   "files for validation (default: the last 5 % of FILE)");
  verb->add_option("--vocab", options->vocab, "size of the vocabulary of token files")
      ->type_name("N");
  verb->add_flag("--replace", options->replace, "replace a data set of this name");
  verb->callback([&context, options] { RunPrepare(context, *options); });
}

}  // namespace

void AddData(CLI::App& app, Context& context) {
  CLI::App* data = AddSubcommand(app, "data", "Prepare, list and check data sets",
                                 {"normlab data prepare kjv bible.txt", "normlab data ls"});
  data->require_subcommand(1);
  AddPrepare(data, context);
  CLI::App* ls = AddSubcommand(*data, "ls", "List the data sets", {"normlab data ls --json"});
  AddServerOptions(ls, context);
  AddOutputOptions(ls, context);
  ls->callback([&context] { RunDataLs(context); });
  CLI::App* check = AddSubcommand(*data, "check", "Check counts, ranges and checksums",
                                  {"normlab data check", "normlab data check kjv"});
  AddServerOptions(check, context);
  AddOutputOptions(check, context);
  auto names = std::make_shared<std::vector<std::string>>();
  check->add_option("NAME", *names, "data sets (default: all)");
  check->callback([&context, names] { RunCheck(context, *names); });
}

}  // namespace normlab::cli
