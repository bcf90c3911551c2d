#include "cli/context.h"

#include <algorithm>
#include <utility>

#include "CLI/CLI.hpp"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitFine;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kAlreadyExists:
      return kExitRefused;
    case absl::StatusCode::kUnavailable:
      return kExitUnreachable;
    case absl::StatusCode::kDeadlineExceeded:
      return kExitTimedOut;
    default:
      return kExitRunsFailed;
  }
}

void Fail(Context& context, const absl::Status& status, const std::string& hint) {
  context.exit_code = ExitCodeOf(status);
  *context.err << "normlab: " << status.message() << "\n";
  if (!hint.empty()) *context.err << "  " << hint << "\n";
  if (context.mode == OutputMode::kJson) {
    const nlohmann::json document = {{"error",
                                      {{"code", absl::StatusCodeToString(status.code())},
                                       {"message", std::string(status.message())},
                                       {"hint", hint}}}};
    PrintDocument(document, *context.out);
  }
}

CLI::App* AddSubcommand(CLI::App& app, const std::string& name, const std::string& summary,
                        const std::vector<std::string>& examples) {
  CLI::App* verb = app.add_subcommand(name, summary);
  // CLI11 prints the description ahead of usage and options: the place where examples help most.
  if (!examples.empty()) {
    verb->description(Cat(summary, "\n\nExamples:\n  ", Join(examples, "\n  "), "\n"));
  }
  return verb;
}

void AddServerOptions(CLI::App* verb, Context& context) {
  verb->add_option("--connect", context.connect, "connect.json of the server to talk to")
      ->type_name("FILE");
  verb->add_option("--data", context.data, "data folder (default: $NORMLAB_DATA, else XDG)")
      ->type_name("DIR");
}

void AddOutputOptions(CLI::App* verb, Context& context) {
  const auto add = [&](const char* flag, const char* help, OutputMode mode) {
    verb->add_flag_callback(
        flag, [&context, mode] { context.mode = mode; }, help);
  };
  add("--json", "one JSON document", OutputMode::kJson);
  add("--jsonl", "one JSON object a line", OutputMode::kJsonLines);
  add("--csv", "CSV with exact numbers", OutputMode::kCsv);
  add("--md", "a Markdown table", OutputMode::kMarkdown);
  add("-q,--quiet", "ids only", OutputMode::kQuiet);
}

void Print(Context& context, const nlohmann::json& document, const nlohmann::json& rows,
           std::vector<Column> columns, std::string id_key) {
  Listing listing;
  listing.document = &document;
  listing.rows = &rows;
  listing.columns = std::move(columns);
  listing.id_key = std::move(id_key);
  PrintListing(listing, context.mode, *context.out);
}

}  // namespace normlab::cli
