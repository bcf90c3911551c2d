#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/data.h"
#include "cli/verbs.h"
#include "core/data_folder.h"
#include "core/dataset.h"
#include "core/file.h"
#include "core/status.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {

using nlohmann::json;

absl::StatusOr<DataFolder> FolderOf(const Context& context) {
  ASSIGN_OR_RETURN(std::string dir, DataFolderPath(context.data, ProcessEnv()));
  return DataFolder(std::move(dir));
}

void PrintDatasets(Context& context, json rows) {
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

namespace {

absl::StatusOr<std::vector<std::string>> DatasetNames(const DataFolder& folder) {
  if (!IsDir(folder.Datasets())) return std::vector<std::string>();
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDir(folder.Datasets()));
  std::erase_if(names, [](const std::string& name) { return name[0] == '.'; });
  return names;
}

void RunDataLs(Context& context) {
  absl::StatusOr<DataFolder> folder = FolderOf(context);
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
  PrintDatasets(context, std::move(rows));
}

void RunCheck(Context& context, std::vector<std::string> names) {
  absl::StatusOr<DataFolder> folder = FolderOf(context);
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

}  // namespace

void AddData(CLI::App& app, Context& context) {
  CLI::App* data = AddSubcommand(app, "data", "Prepare, list, check and decode data sets",
                                 {"normlab data prepare kjv bible.txt", "normlab data ls"});
  data->require_subcommand(1);
  AddDataPrepare(data, context);
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
  AddDataDecode(data, context);
}

}  // namespace normlab::cli
