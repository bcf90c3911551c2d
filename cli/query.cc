#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/source.h"
#include "cli/verbs.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

void RunQuery(Context& context, const std::string& sql) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  absl::StatusOr<json> document = source->Get("/api/v1/query", {{"sql", sql}});
  if (!document.ok()) return Fail(context, document.status());
  std::vector<Column> columns;
  json rows = json::array();
  // Two columns may have one name in SQL; the position tells them apart in every mode but JSON
  // lines, where the later one would win, so those get a suffix.
  std::vector<std::string> keys;
  for (const json& name : document->at("columns")) {
    std::string key = name.get<std::string>();
    while (std::find(keys.begin(), keys.end(), key) != keys.end()) key += "_";
    keys.push_back(key);
    columns.push_back({key, name.get<std::string>()});
  }
  for (const json& values : document->at("rows")) {
    json row = json::object();
    for (size_t i = 0; i < keys.size(); ++i) row[keys[i]] = values.at(i);
    rows.push_back(std::move(row));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!rows.empty() && rows[0].at(keys[i]).is_number()) columns[i].align = Align::kRight;
    columns[i].significant = 9;
  }
  Print(context, *document, rows, std::move(columns), keys.empty() ? "" : keys.front());
  if (document->at("truncated").get<bool>()) {
    *context.err << "normlab: only the first " << rows.size()
                 << " rows; narrow it down with WHERE, or use normlab export\n";
    context.exit_code = kExitPartial;
  }
}

}  // namespace

void AddQuery(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(
      app, "query", "Ask the result database in SQL (read-only)",
      {"normlab query \"SELECT state, outcome, count(*) FROM run_v GROUP BY 1, 2\"",
       "normlab query \"SELECT step, value FROM scalar('r1', 'train_loss')\" --csv",
       "normlab query \"SELECT depth, value FROM profile('r1', 'hidden_ma') WHERE step = 300\""});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto sql = std::make_shared<std::string>();
  verb->add_option("SQL", *sql, "one SELECT statement over the views")->required();
  verb->callback([&context, sql] { RunQuery(context, *sql); });
}

}  // namespace normlab::cli
