#include <memory>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/knob_schema.h"
#include "cli/verbs.h"
#include "core/knob.h"
#include "core/run_config.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

struct ConfigOptions {
  std::string filter;
  bool schema = false;
};

void RunConfigVerb(Context& context, const ConfigOptions& options) {
  if (options.schema) {
    PrintDocument(KnobJsonSchema(), *context.out);
    return;
  }
  json rows = KnobRows(options.filter);
  if (rows.empty()) {
    const std::string_view nearest = NearestKnob(options.filter);
    return Fail(context, absl::NotFoundError(Cat("no knob is named like '", options.filter, "'")),
                nearest.empty() ? "" : Cat("did you mean ", nearest, "?"));
  }
  const json document = {{"schema", "normlab.config.v1"}, {"knobs", rows}};
  Print(context, document, rows,
        {{"key", "knob"},
         {"default", "default"},
         {"range", "what it may be"},
         {"affects", "affects"},
         {"applies_to", "applies to"},
         {"help", "meaning"}},
        "key");
}

}  // namespace

void AddConfig(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "config", "Print every knob of a run: type, default, range, meaning",
                    {"normlab config", "normlab config norm",
                     "normlab config --schema > sweep-base.schema.json"});
  AddOutputOptions(verb, context);
  auto options = std::make_shared<ConfigOptions>();
  verb->add_option("FILTER", options->filter, "a group (norm) or a part of a name");
  verb->add_flag("--schema", options->schema, "the table as JSON Schema, for editors");
  verb->callback([&context, options] { RunConfigVerb(context, *options); });
}

}  // namespace normlab::cli
