#include <memory>

#include "CLI/CLI.hpp"
#include "cli/source.h"
#include "cli/verbs.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

struct DivergenceOptions {
  std::string sweep = "last";
  std::string by;
};

// k of n with the interval of the share; null where nothing was judged yet.
json RowOf(const json& arm) {
  const json& diverged = arm.at("diverged");
  const json& interval = arm.at("diverged_interval");
  const int64_t n = diverged.at("n").get<int64_t>();
  json row = {{"arm", arm.at("label")},
              {"diverged", diverged.at("k")},
              {"of", n},
              {"share", nullptr},
              {"low", nullptr},
              {"high", nullptr},
              {"censored", arm.at("censored")}};
  if (n > 0) row["share"] = diverged.at("k").get<double>() / static_cast<double>(n);
  for (const char* bound : {"low", "high"}) {
    if (!interval.is_null()) row[bound] = interval.at(bound);
  }
  return row;
}

void RunDivergence(Context& context, const DivergenceOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  Params params;
  if (!options.by.empty()) params["by"] = options.by;
  absl::StatusOr<json> answer = source->Get(SweepPath(options.sweep, "/compare"), params);
  if (!answer.ok()) return Fail(context, answer.status());
  json rows = json::array();
  for (const json& arm : answer->at("arms")) rows.push_back(RowOf(arm));
  const json document = {{"schema", "normlab.divergence.v1"},
                         {"sweep", answer->at("sweep")},
                         {"by", answer->at("by")},
                         {"confidence", answer->at("confidence")},
                         {"method", "wilson"},
                         {"arms", rows}};
  Print(context, document, rows,
        {{"arm", "arm"},
         {"diverged", "diverged", Align::kRight},
         {"of", "of", Align::kRight},
         {"share", "share", Align::kRight, 3},
         {"low", "95 % from", Align::kRight, 3},
         {"high", "to", Align::kRight, 3},
         {"censored", "censored", Align::kRight}},
        "arm");
}

}  // namespace

void AddDivergence(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "divergence", "How many runs of each arm diverged, with intervals",
                    {"normlab divergence last", "normlab divergence s3 --by norm.placement --csv"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto options = std::make_shared<DivergenceOptions>();
  verb->add_option("SWEEP", options->sweep, "last, s3, or a name or its unique prefix");
  verb->add_option("--by", options->by, "one arm per level of this factor (default: per cell)")
      ->type_name("KEY");
  verb->callback([&context, options] { RunDivergence(context, *options); });
}

}  // namespace normlab::cli
