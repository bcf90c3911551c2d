#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/list_options.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

void RunLs(Context& context, const ListOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  absl::StatusOr<nlohmann::json> document = source->Get("/api/v1/sweeps");
  if (!document.ok()) return Fail(context, document.status());
  nlohmann::json& rows = (*document)["sweeps"];
  std::vector<Column> columns = {{"id", "sweep"},
                                 {"name", "name"},
                                 {"state", "state"},
                                 {"runs", "runs", Align::kRight},
                                 {"/counts/done", "done", Align::kRight},
                                 {"/counts/running", "running", Align::kRight},
                                 {"/counts/failed", "failed", Align::kRight},
                                 {"/outcomes/diverged", "diverged", Align::kRight},
                                 {"linked", "linked", Align::kRight},
                                 {"submitted_at", "submitted"}};
  if (absl::Status status = options.Apply(rows, columns); !status.ok()) {
    return Fail(context, status);
  }
  if (rows.empty() && context.mode == OutputMode::kTable) {
    *context.err << "No sweeps yet. Start one with: normlab submit FILE\n";
    return;
  }
  Print(context, *document, rows, std::move(columns));
}

}  // namespace

void AddLs(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(app, "ls", "List the sweeps",
                                 {"normlab ls", "normlab ls --where \"state = 'running'\"",
                                  "normlab ls --json | jq '.sweeps[].name'"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto options = std::make_shared<ListOptions>();
  options->AddTo(verb);
  verb->callback([&context, options] { RunLs(context, *options); });
}

}  // namespace normlab::cli
