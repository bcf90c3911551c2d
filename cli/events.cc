#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/list_options.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

void RunEvents(Context& context, const std::string& run, const ListOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  absl::StatusOr<nlohmann::json> document = source->Get(RunPath(run, "/events"));
  if (!document.ok()) return Fail(context, document.status());
  nlohmann::json& rows = (*document)["events"];
  std::vector<Column> columns = {{"step", "step", Align::kRight},
                                 {"kind", "kind"},
                                 {"attempt", "attempt", Align::kRight},
                                 {"detail", "detail"}};
  if (absl::Status status = options.Apply(rows, columns); !status.ok()) {
    return Fail(context, status);
  }
  Print(context, *document, rows, std::move(columns), "step");
}

}  // namespace

void AddEvents(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(app, "events", "List loss spikes and other events of a run",
                                 {"normlab events r37", "normlab events s3/c4/2 --json"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto run = std::make_shared<std::string>();
  verb->add_option("RUN", *run, "a run: r37 or s3/c4/2")->required();
  auto options = std::make_shared<ListOptions>();
  options->AddTo(verb);
  verb->callback([&context, run, options] { RunEvents(context, *run, *options); });
}

}  // namespace normlab::cli
