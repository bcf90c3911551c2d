#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/list_options.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "core/selector.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

// Factors become columns of their own, named by their full key.
std::vector<Column> RunColumns(const json& document, json& rows) {
  std::vector<Column> columns = {{"id", "run"}, {"cell", "cell"}};
  for (const json& key : document.at("factor_keys")) {
    columns.push_back({key.get<std::string>(), key.get<std::string>()});
    for (json& row : rows) {
      if (row.at("factors").contains(key)) row[key.get<std::string>()] = row["factors"][key];
    }
  }
  for (Column column :
       std::vector<Column>{{"seed", "seed", Align::kRight},
                           {"state", "state"},
                           {"outcome", "outcome"},
                           {"step", "step", Align::kRight},
                           {"steps", "of", Align::kRight},
                           {"train_loss", "train loss", Align::kRight},
                           {"val_loss", "val loss", Align::kRight},
                           {"spikes", "spikes", Align::kRight},
                           {"first_nonfinite_step", "first nonfinite", Align::kRight},
                           {"growth", "growth", Align::kRight},
                           {"tokens_per_s", "tokens/s", Align::kRight},
                           {"attempt", "attempts", Align::kRight},
                           {"worker", "worker"},
                           {"linked", "linked"}}) {
    columns.push_back(std::move(column));
  }
  return columns;
}

// As against those of one sweep or cell.
bool NamesRuns(const Selector& selector) {
  return selector.kind == Selector::Kind::kAll || selector.kind == Selector::Kind::kRun ||
         selector.kind == Selector::Kind::kRunRange || selector.kind == Selector::Kind::kSeed;
}

void RunRuns(Context& context, const std::string& sweep, const ListOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  const absl::StatusOr<Selector> selector = ParseSelector(sweep);
  if (!selector.ok()) return Fail(context, selector.status());
  absl::StatusOr<json> document = NamesRuns(*selector)
                                      ? source->Get("/api/v1/runs", {{"select", sweep}})
                                      : source->Get(SweepPath(sweep, "/runs"));
  if (!document.ok()) return Fail(context, document.status());
  json rows = (*document)["runs"];
  std::vector<Column> columns = RunColumns(*document, rows);
  if (absl::Status status = options.Apply(rows, columns); !status.ok()) {
    return Fail(context, status);
  }
  // The document shows the rows that were asked for, in their own shape.
  if (context.mode == OutputMode::kJson) {
    json kept = json::array();
    for (const json& row : rows) {
      for (const json& original : (*document)["runs"]) {
        if (original.at("id") == row.at("id") && original.at("cell") == row.at("cell")) {
          kept.push_back(original);
        }
      }
    }
    (*document)["runs"] = std::move(kept);
  }
  Print(context, *document, rows, std::move(columns));
}

}  // namespace

void AddRuns(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "runs", "List the runs of a sweep",
                    {"normlab runs last",
                     "normlab runs s3 --where \"loss < 3 and placement = 'geo'\" --sort loss",
                     "normlab runs s3/c4 --cols seed,state,val_loss", "normlab runs r37-r40",
                     "normlab runs placements --csv > runs.csv"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto sweep = std::make_shared<std::string>("last");
  verb->add_option("SELECTOR", *sweep,
                   "a sweep (last, s3, a name or its unique prefix), a cell (s3/c4), a seed of it "
                   "(s3/c4/2), runs (r37, r37-r40) or all");
  auto options = std::make_shared<ListOptions>();
  options->AddTo(verb);
  verb->callback([&context, sweep, options] { RunRuns(context, *sweep, *options); });
}

}  // namespace normlab::cli
