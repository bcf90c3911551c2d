#include <memory>

#include "CLI/CLI.hpp"
#include "cli/source.h"
#include "cli/verbs.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

void RunExplain(Context& context, const std::string& selector) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  absl::StatusOr<json> answer = source->Get(RunPath(selector));
  if (!answer.ok()) return Fail(context, answer.status());
  const json& run = answer->at("run");
  const json document = {{"schema", "normlab.explain.v1"},
                         {"run", run.at("id")},
                         {"state", run.at("state")},
                         {"explain", run.at("explain")},
                         {"transitions", run.at("transitions")}};
  if (context.mode == OutputMode::kTable) {
    *context.out << run.at("id").get<std::string>() << ": " << run.at("explain").get<std::string>()
                 << "\n\n";
  }
  Print(context, document, run.at("transitions"),
        {{"at", "at"},
         {"state", "state"},
         {"reason", "reason"},
         {"attempt", "attempt", Align::kRight},
         {"worker", "worker"}},
        "state");
}

}  // namespace

void AddExplain(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "explain", "Say why a run is where it is, and how it got there",
                    {"normlab explain r37", "normlab explain s3/c4/2 --json"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto run = std::make_shared<std::string>();
  verb->add_option("RUN", *run, "a run: r37 or s3/c4/2")->required();
  verb->callback([&context, run] { RunExplain(context, *run); });
}

}  // namespace normlab::cli
