#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

struct CompareOptions {
  std::string sweep = "last";
  Params params;
};

std::string Interval(const json& object, bool sign) {
  if (object.is_null() || object.at("mean").is_null()) return "-";
  const auto number = [&](const json& value) {
    if (!value.is_number()) return HumanText(value, 4);
    return sign ? absl::StrFormat("%+.4f", value.get<double>())
                : absl::StrFormat("%.4f", value.get<double>());
  };
  if (object.at("ci_low").is_null()) return number(object.at("mean"));
  return Cat(number(object.at("mean")), " [", number(object.at("ci_low")), ", ",
             number(object.at("ci_high")), "]");
}

// The columns people read; machine modes get the numbers themselves.
json HumanRows(const json& document) {
  json rows = json::array();
  for (const json& arm : document.at("arms")) {
    json row = arm;
    row["n_of"] = Cat(arm.at("n").dump(), "/", arm.at("planned").dump());
    row["interval"] = Interval(arm, false);
    const json& diff = arm.at("diff");
    row["difference"] = arm.at("label") == document.at("baseline") ? "baseline"
                        : diff.is_null()
                            ? "-"
                            : Cat(Interval(diff, true), " n=", diff.at("n_pairs").dump());
    row["diverged_of"] =
        Cat(arm.at("diverged").at("k").dump(), "/", arm.at("diverged").at("n").dump());
    const json& growth = arm.at("growth");
    row["growth_text"] = growth.is_null() ? "-"
                                          : Cat(HumanText(growth.at("first"), 3), " → ",
                                                HumanText(growth.at("last"), 3), " (×",
                                                HumanText(growth.at("ratio"), 3), ")");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Column> HumanColumns(const std::string& metric) {
  return {{"label", "arm"},
          {"n_of", "n", Align::kRight},
          {"interval", Cat(metric, " mean [95 %]")},
          {"difference", "Δ to baseline [95 %], paired"},
          {"diverged_of", "diverged", Align::kRight},
          {"growth_text", "hidden_ma first → last"},
          {"tokens_per_s", "tokens/s", Align::kRight},
          {"differs_in", "also differs in"}};
}

std::vector<Column> MachineColumns() {
  return {{"label", ""},
          {"cell", ""},
          {"n", ""},
          {"planned", ""},
          {"mean", ""},
          {"ci_low", ""},
          {"ci_high", ""},
          {"sd", ""},
          {"min", ""},
          {"max", ""},
          {"/diff/mean", ""},
          {"/diff/ci_low", ""},
          {"/diff/ci_high", ""},
          {"/diff/n_pairs", ""},
          {"/diverged/k", ""},
          {"/diverged/n", ""},
          {"/growth/first", ""},
          {"/growth/last", ""},
          {"/growth/ratio", ""},
          {"tokens_per_s", ""},
          {"differs_in", ""}};
}

void RunCompare(Context& context, const CompareOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  absl::StatusOr<json> document = source->Get(SweepPath(options.sweep, "/compare"), options.params);
  if (!document.ok()) return Fail(context, document.status());
  const bool people = context.mode == OutputMode::kTable || context.mode == OutputMode::kMarkdown;
  if (people) {
    Print(context, *document, HumanRows(*document),
          HumanColumns(document->at("metric").get<std::string>()), "label");
    for (const json& note : document->at("notes")) {
      *context.out << "\n" << note.get<std::string>() << "\n";
    }
    return;
  }
  Print(context, *document, document->at("arms"), MachineColumns(), "label");
}

void AddParam(CLI::App* verb, const std::shared_ptr<CompareOptions>& options, const char* flag,
              const char* name, const char* help, const char* type) {
  verb->add_option_function<std::string>(
          flag, [options, name](const std::string& value) { options->params[name] = value; }, help)
      ->type_name(type);
}

}  // namespace

void AddCompare(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(
      app, "compare", "Compare the arms of a sweep, paired by seed",
      {"normlab compare last", "normlab compare placements --by norm.placement --baseline pre",
       "normlab compare s3 --md > table.md"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto options = std::make_shared<CompareOptions>();
  verb->add_option("SWEEP", options->sweep, "last, s3, or a name or its unique prefix");
  AddParam(verb, options, "--by", "by", "one arm per level of this factor (default: per cell)",
           "KEY");
  AddParam(verb, options, "--metric", "metric", "what to compare (default: val_loss)", "NAME");
  AddParam(verb, options, "--pair", "pair", "pair runs by: seed (default)", "seed");
  AddParam(verb, options, "--baseline", "baseline", "the arm that differences refer to", "ARM");
  verb->callback([&context, options] { RunCompare(context, *options); });
}

}  // namespace normlab::cli
