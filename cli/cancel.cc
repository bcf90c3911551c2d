#include <memory>

#include "CLI/CLI.hpp"
#include "cli/client.h"
#include "cli/verbs.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

struct CancelOptions {
  std::string selector;
  std::string reason;
};

void RunCancel(Context& context, const CancelOptions& options) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Find(context);
  if (!client.ok()) return Fail(context, client.status());
  absl::StatusOr<nlohmann::json> document = (*client)->Cancel(options.selector, options.reason);
  if (!document.ok()) return Fail(context, document.status());
  if (context.mode == OutputMode::kJson) {
    PrintDocument(*document, *context.out);
    return;
  }
  *context.out << document->at("message").get<std::string>() << "\n";
}

}  // namespace

void AddCancel(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "cancel", "End a sweep or a run now; finished results stay",
                    {"normlab cancel s3", "normlab cancel r37 --reason \"wrong data set\""});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto options = std::make_shared<CancelOptions>();
  verb->add_option("SELECTOR", options->selector, "a sweep or a run")->required();
  verb->add_option("--reason", options->reason, "kept with the sweep")->type_name("TEXT");
  verb->callback([&context, options] { RunCancel(context, *options); });
}

}  // namespace normlab::cli
