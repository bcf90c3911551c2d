#include <memory>

#include "CLI/CLI.hpp"
#include "cli/client.h"
#include "cli/verbs.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

void RunOpen(Context& context) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Find(context);
  if (!client.ok()) return Fail(context, client.status());
  absl::StatusOr<std::string> url = (*client)->OneTimeAddress();
  if (!url.ok()) return Fail(context, url.status());
  if (context.mode == OutputMode::kJson) {
    PrintDocument({{"schema", "normlab.open.v1"}, {"url", *url}}, *context.out);
    return;
  }
  *context.out << *url << "\n";
}

}  // namespace

void AddOpen(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "open", "Print the dashboard's address with a key that works once",
                    {"normlab open", "xdg-open \"$(normlab open)\"",
                     "ssh -L 7421:127.0.0.1:7421 host   # then open the printed address here"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  verb->callback([&context] { RunOpen(context); });
}

}  // namespace normlab::cli
