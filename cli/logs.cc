#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/poll.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

constexpr absl::Duration kFollowPeriod = absl::Milliseconds(500);

struct LogsOptions {
  std::string run;
  bool follow = false;
};

bool Ended(const Source& source, const std::string& run) {
  absl::StatusOr<json> document = source.Get(RunPath(run));
  if (!document.ok()) return true;
  const std::string state = document->at("run").at("state");
  return state == "done" || state == "failed" || state == "cancelled";
}

void PrintLines(Context& context, const json& document) {
  if (context.mode == OutputMode::kTable) {
    for (const json& line : document.at("lines")) {
      *context.out << line.at("text").get<std::string>() << "\n";
    }
    context.out->flush();
    return;
  }
  Print(context, document, document.at("lines"),
        {{"seq", "seq"}, {"attempt", "attempt"}, {"text", "text"}}, "seq");
}

void RunLogs(Context& context, const LogsOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  if (options.follow) CatchInterrupt();
  Params params;
  while (true) {
    // Asked before the lines, so that lines written just before the end are still read.
    const bool last_round = !options.follow || source->offline() || Ended(*source, options.run);
    absl::StatusOr<json> document = source->Get(RunPath(options.run, "/logs"), params);
    if (!document.ok()) return Fail(context, document.status());
    PrintLines(context, *document);
    if (last_round) return;
    if (!document->at("lines").empty()) {
      params["after"] = document->at("lines").back().at("seq").dump();
    }
    if (WaitOrInterrupted(*context.clock, kFollowPeriod)) {
      context.exit_code = kExitInterrupted;
      return;
    }
  }
}

}  // namespace

void AddLogs(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "logs", "Print the log lines of a run",
                    {"normlab logs r37", "normlab logs r37 -f   # until the run ends"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto options = std::make_shared<LogsOptions>();
  verb->add_option("RUN", options->run, "a run: r37 or s3/c4/2")->required();
  verb->add_flag("-f,--follow", options->follow, "keep printing until the run ends");
  verb->callback([&context, options] { RunLogs(context, *options); });
}

}  // namespace normlab::cli
