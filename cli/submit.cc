#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"
#include "cli/client.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "cli/watch.h"
#include "core/json.h"
#include "core/random.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep_spec.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

struct SubmitOptions {
  std::string file;
  std::vector<std::string> overrides;
  std::optional<int> seeds;
  std::string name;
  std::optional<int> max_failures;
  bool dry_run = false;
  bool wait = false;
  bool follow = false;
  bool fresh = false;
  bool fail_on_diverged = false;
};

// Every error of a sweep file, one line each, and in JSON mode as one document too.
void FailWithSpecErrors(Context& context, const std::vector<SpecError>& errors) {
  context.exit_code = kExitUsage;
  std::vector<std::string> lines;
  for (const SpecError& error : errors) lines.push_back(error.ToString());
  const std::string message = Join(lines, "\n");
  *context.err << message << "\n";
  if (context.mode == OutputMode::kJson) {
    const json document = {{"error",
                            {{"code", "INVALID_ARGUMENT"},
                             {"message", message},
                             {"lines", lines},
                             {"hint", "normlab config lists every knob"}}}};
    PrintDocument(document, *context.out);
  }
}

absl::Status Override(SweepSpec& spec, const SubmitOptions& options) {
  for (const std::string& text : options.overrides) {
    RETURN_IF_ERROR(spec.ApplyOverride(text));
  }
  if (options.seeds.has_value()) RETURN_IF_ERROR(spec.SetSeeds(*options.seeds));
  if (!options.name.empty()) RETURN_IF_ERROR(spec.SetName(options.name));
  return absl::OkStatus();
}

// The file with everything the command line changed; nullopt after it told what is wrong.
std::optional<SweepSpec> LoadSpec(Context& context, const SubmitOptions& options) {
  std::vector<SpecError> errors;
  std::optional<SweepSpec> spec = SweepSpec::ParseFile(options.file, errors);
  if (!spec.has_value()) {
    FailWithSpecErrors(context, errors);
    return std::nullopt;
  }
  if (absl::Status status = Override(*spec, options); !status.ok()) {
    Fail(context, status);
    return std::nullopt;
  }
  errors = spec->Check(options.file);
  if (!errors.empty()) {
    FailWithSpecErrors(context, errors);
    return std::nullopt;
  }
  return spec;
}

// What can be said with no server: the honest count, and nothing about links or time.
json LocalDryRun(const SweepSpec& spec, const Expansion& expansion) {
  json merged = json::array();
  for (const Merge& merge : expansion.merges) {
    if (merge.names.size() > 1) merged.push_back(Join(merge.names, " = "));
  }
  return {{"schema", "normlab.submit.v1"},
          {"dry_run", true},
          {"sweep", nullptr},
          {"name", spec.name},
          {"combinations", expansion.combinations},
          {"excluded", expansion.excluded},
          {"cells", expansion.cells.size()},
          {"runs", expansion.members.size()},
          {"linked", nullptr},
          {"linked_runs", json::array()},
          {"estimate_s", nullptr},
          {"merged", std::move(merged)},
          {"warnings", spec.Warnings()}};
}

void PrintSubmission(Context& context, const json& document) {
  if (context.mode == OutputMode::kJson) {
    PrintDocument(document, *context.out);
    return;
  }
  if (context.mode == OutputMode::kQuiet) {
    *context.out << HumanText(document.at("sweep"), 5) << "\n";
    return;
  }
  const bool dry_run = document.at("dry_run").get<bool>();
  std::ostream& out = *context.out;
  out << (dry_run ? "Would submit " : Cat("Submitted ", HumanText(document.at("sweep"), 5), ", "))
      << document.at("name").get<std::string>() << ": " << document.at("combinations").dump()
      << " combinations, " << document.at("excluded").dump() << " excluded, "
      << document.at("cells").dump() << " cells, " << document.at("runs").dump() << " runs";
  const json& linked = document.at("linked");
  if (linked.is_number() && linked.get<int>() > 0) {
    out << ", " << linked.dump() << " of them linked (done or under way already)";
  }
  out << "\n";
  for (const json& merge : document.at("merged")) {
    out << "  one cell: " << merge.get<std::string>() << "\n";
  }
  const json& estimate = document.at("estimate_s");
  // A sweep whose runs are all linked costs nothing, which its line above has said.
  if (estimate.is_number() && estimate.get<double>() >= 0.5) {
    out << "  about " << absl::FormatDuration(absl::Seconds(std::llround(estimate.get<double>())))
        << " of computing, judged by runs like these\n";
  }
  for (const json& warning : document.at("warnings")) {
    out << "  waits: " << warning.get<std::string>() << "\n";
  }
}

void DryRun(Context& context, const SweepSpec& spec, const SubmitOptions& options) {
  const Expansion expansion = Expand(spec);
  json document = LocalDryRun(spec, expansion);
  if (absl::StatusOr<std::unique_ptr<Client>> client = Client::Find(context); client.ok()) {
    SubmitCall call;
    call.spec_json = DumpStrict(spec.ToJson());
    call.dry_run = true;
    call.fresh = options.fresh;
    call.max_failures = options.max_failures.value_or(0);
    absl::StatusOr<json> answer = (*client)->Submit(call);
    if (!answer.ok()) return Fail(context, answer.status());
    document = *std::move(answer);
  }
  PrintSubmission(context, document);
}

void Follow(Context& context, const json& document, const SubmitOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  WatchOptions watch;
  watch.sweep = document.at("sweep").get<std::string>();
  watch.fail_on_diverged = options.fail_on_diverged;
  watch.show_progress = options.follow;
  const OutputMode mode = std::exchange(context.mode, OutputMode::kTable);
  WatchSweep(context, *source, watch);
  context.mode = mode;
}

void RunSubmit(Context& context, const SubmitOptions& options) {
  std::optional<SweepSpec> spec = LoadSpec(context, options);
  if (!spec.has_value()) return;
  if (options.dry_run) return DryRun(context, *spec, options);
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Find(context);
  if (!client.ok()) {
    return Fail(context, client.status(), "start one with: normlab serve");
  }
  SubmitCall call;
  call.spec_json = DumpStrict(spec->ToJson());
  call.client_key = context.random->HexToken(16);
  call.fresh = options.fresh;
  call.max_failures = options.max_failures.value_or(0);
  absl::StatusOr<json> document = (*client)->Submit(call);
  if (!document.ok()) return Fail(context, document.status());
  PrintSubmission(context, *document);
  if (options.wait || options.follow) Follow(context, *document, options);
}

}  // namespace

void AddSubmit(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "submit", "Submit a sweep file",
                    {"normlab submit sweep.yaml --dry-run", "normlab submit sweep.yaml --follow",
                     "normlab submit sweep.yaml -S norm.decay=harmonic,sqrt,linear --seeds 5"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto options = std::make_shared<SubmitOptions>();
  verb->add_option("FILE", options->file, "the sweep file, YAML or JSON")->required();
  verb->add_option("-S,--set", options->overrides, "override a knob, or add a factor: key=v1,v2")
      ->type_name("KEY=V1,V2")
      ->expected(1)
      ->take_all();
  verb->add_option("--seeds", options->seeds, "replicates: seeds 1 to N")->type_name("N");
  verb->add_option("--name", options->name, "name of the sweep")->type_name("NAME");
  verb->add_option("--max-failures", options->max_failures,
                   "cancel the sweep when more runs than this failed")
      ->type_name("N");
  verb->add_flag("--dry-run", options->dry_run, "say what would happen; needs no server");
  verb->add_flag("--wait", options->wait, "return when the sweep has ended");
  verb->add_flag("--follow", options->follow, "as --wait, showing progress");
  verb->add_flag("--fresh", options->fresh, "make new runs instead of linking finished ones");
  verb->add_flag("--fail-on-diverged", options->fail_on_diverged,
                 "with --wait: exit with 1 when a run diverged");
  verb->callback([&context, options] { RunSubmit(context, *options); });
}

}  // namespace normlab::cli
