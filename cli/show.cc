#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "core/ids.h"
#include "core/selector.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

std::string CountsText(const json& counts) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts.items()) {
    if (count.get<int64_t>() > 0) parts.push_back(Cat(count.dump(), " ", state));
  }
  return parts.empty() ? "none" : Join(parts, ", ");
}

void PrintSweepHead(std::ostream& out, const json& sweep) {
  out << sweep.at("id").get<std::string>() << "  " << sweep.at("name").get<std::string>() << "  "
      << sweep.at("state").get<std::string>() << "\n"
      << "submitted  " << HumanText(sweep.at("submitted_at"), 5) << "\n"
      << "runs       " << CountsText(sweep.at("counts")) << " (of " << sweep.at("runs").dump()
      << ", " << sweep.at("linked").dump() << " linked)\n"
      << "outcomes   " << CountsText(sweep.at("outcomes")) << "\n"
      << "baseline   " << HumanText(sweep.at("baseline"), 5) << "\n";
  for (const json& factor : sweep.at("factors")) {
    out << "factor     " << factor.at("key").get<std::string>() << ": "
        << HumanText(factor.at("levels"), 5) << "\n";
  }
  for (const json& warning : sweep.at("warnings")) {
    out << "waiting    " << warning.get<std::string>() << "\n";
  }
}

// Of "s3/c4" that cell alone.
void ShowSweep(Context& context, json document, const Selector& selector) {
  json& sweep = document.at("sweep");
  json& cells = sweep.at("cells_detail");
  if (selector.kind == Selector::Kind::kCell) {
    const std::string id = Cat(sweep.at("id").get<std::string>(), "/", ToString(selector.cell));
    json chosen = json::array();
    for (json& cell : cells) {
      if (cell.at("id") == id) chosen.push_back(std::move(cell));
    }
    cells = std::move(chosen);
  }
  if (context.mode == OutputMode::kTable) {
    PrintSweepHead(*context.out, sweep);
    *context.out << "\n";
  }
  Print(context, document, cells,
        {{"id", "cell"}, {"names", "arm"}, {"factors", "factors"}, {"runs", "runs"}});
}

void PrintRunHead(std::ostream& out, const json& run) {
  for (const char* key : {"id",           "cell",          "label",
                          "seed",         "state",         "outcome",
                          "reason",       "stopped_by",    "explain",
                          "step",         "steps",         "train_loss",
                          "val_loss",     "best_val_loss", "ppl_of_mean",
                          "mean_seq_ppl", "spikes",        "first_nonfinite_step",
                          "growth",       "tokens_per_s",  "device_seconds",
                          "queued_at",    "started_at",    "finished_at",
                          "identity",     "sweeps"}) {
    const auto value = run.find(key);
    if (value == run.end() || value->is_null()) continue;
    out << absl::StrFormat("%-21s", key) << HumanText(*value, 6) << "\n";
  }
  out << "\n";
  for (const auto& [key, value] : run.at("config").items()) {
    out << absl::StrFormat("  %-24s", key) << HumanText(value, 6) << "\n";
  }
  out << "\n";
}

void ShowRun(Context& context, const json& document) {
  const json& run = document.at("run");
  if (context.mode == OutputMode::kTable) PrintRunHead(*context.out, run);
  Print(context, document, run.at("attempts"),
        {{"number", "attempt", Align::kRight},
         {"state", "state"},
         {"worker", "worker"},
         {"start_step", "from step", Align::kRight},
         {"last_step", "to step", Align::kRight},
         {"reason", "reason"},
         {"exit_code", "exit", Align::kRight},
         {"signal", "signal", Align::kRight},
         {"started_at", "started"},
         {"ended_at", "ended"}},
        "number");
}

void RunShow(Context& context, const std::string& selector) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  const absl::StatusOr<Selector> parsed = ParseSelector(selector);
  if (!parsed.ok()) return Fail(context, parsed.status());
  const bool is_run = parsed->kind == Selector::Kind::kRun || parsed->kind == Selector::Kind::kSeed;
  absl::StatusOr<json> document = source->Get(is_run ? RunPath(selector) : SweepPath(selector));
  if (!document.ok()) return Fail(context, document.status());
  if (is_run) {
    ShowRun(context, *document);
  } else {
    ShowSweep(context, *std::move(document), *parsed);
  }
}

}  // namespace

void AddShow(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(app, "show", "Show a sweep or a run in full",
                                 {"normlab show last", "normlab show r37", "normlab show s3/c4/2"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto selector = std::make_shared<std::string>("last");
  verb->add_option("SELECTOR", *selector,
                   "a sweep (last, s3, a name), a cell (s3/c4) or a run (r37, s3/c4/2)");
  verb->callback([&context, selector] { RunShow(context, *selector); });
}

}  // namespace normlab::cli
