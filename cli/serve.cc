#include "server/serve.h"

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "cli/siblings.h"
#include "cli/verbs.h"
#include "core/data_folder.h"

namespace normlab::cli {
namespace {

void RunServe(Context& context, server::ServeOptions options) {
  absl::StatusOr<std::string> data_dir = DataFolderPath(context.data, ProcessEnv());
  if (!data_dir.ok()) return Fail(context, data_dir.status());
  options.data_dir = *data_dir;
  options.program = context.program;
  options.trainer_path = TrainerPath(context.program);
  context.exit_code = server::Serve(options);
}

}  // namespace

void AddServe(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(
      app, "serve", "Run the server: scheduler, results, dashboard, local workers",
      {"normlab serve", "normlab serve --data ~/results --local-workers 2",
       "normlab serve --listen 0.0.0.0:7420 --tls   # for workers on other machines"});
  verb->add_option("--data", context.data, "data folder (default: $NORMLAB_DATA, else XDG)")
      ->type_name("DIR");
  auto options = std::make_shared<server::ServeOptions>();
  verb->add_option("--listen", options->listen, "gRPC address (default: 127.0.0.1:7420)")
      ->type_name("HOST:PORT");
  verb->add_option("--http", options->http, "dashboard address (default: 127.0.0.1:7421)")
      ->type_name("HOST:PORT");
  verb->add_option("--http-host", options->http_hosts, "a host name that browsers may use")
      ->type_name("NAME");
  CLI::Option* tls =
      verb->add_flag("--tls", options->own_certificate,
                     "TLS for --listen with a certificate that the server makes itself");
  CLI::Option* certificate =
      verb->add_option("--cert", options->certificate_file, "TLS certificate for --listen")
          ->type_name("PEM")
          ->excludes(tls);
  CLI::Option* key =
      verb->add_option("--key", options->key_file, "TLS key for --listen")->type_name("PEM");
  certificate->needs(key);
  key->needs(certificate);
  verb->add_option("--advertise", options->advertise,
                   "host name or address in connect.json (default: this machine's)")
      ->type_name("HOST");
  verb->add_option("--local-workers", options->local_workers,
                   "workers on this machine (default: one, with a slot per GPU)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  verb->callback([&context, options] { RunServe(context, *options); });
}

}  // namespace normlab::cli
