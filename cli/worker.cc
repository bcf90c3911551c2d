#include "worker/worker.h"

#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"
#include "cli/siblings.h"
#include "cli/verbs.h"
#include "core/connect_file.h"
#include "core/data_folder.h"

namespace normlab::cli {
namespace {

using worker::OnServerLost;
using worker::WorkerOptions;

void RunWorkerVerb(Context& context, WorkerOptions options) {
  const FindConnectOptions find = {context.connect, context.data};
  absl::StatusOr<std::string> connect_file = ConnectFilePath(find, ProcessEnv());
  if (!connect_file.ok()) return Fail(context, connect_file.status());
  absl::StatusOr<std::string> data_dir = DataFolderPath(context.data, ProcessEnv());
  if (!data_dir.ok()) return Fail(context, data_dir.status());
  options.connect_file = *connect_file;
  options.data_dir = *data_dir;
  options.trainer_path = TrainerPath(context.program);
  context.exit_code = worker::RunWorker(options);
}

void AddPolicies(CLI::App* verb, const std::shared_ptr<WorkerOptions>& options) {
  verb->add_option_function<std::string>(
          "--idle-timeout",
          [options](const std::string& text) {
            if (!absl::ParseDuration(text, &options->idle_timeout) ||
                options->idle_timeout <= absl::ZeroDuration()) {
              throw CLI::ValidationError("--idle-timeout", "a duration such as 90s, 5m or 2h");
            }
          },
          "end after so long without work")
      ->type_name("DURATION");
  verb->add_option_function<std::string>(
          "--on-server-lost",
          [options](const std::string& word) {
            options->on_server_lost = word == "stop" ? OnServerLost::kStop : OnServerLost::kFinish;
          },
          "what running attempts do when the server stays away (default: finish)")
      ->check(CLI::IsMember({"finish", "stop"}));
}

}  // namespace

void AddWorker(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(
      app, "worker", "Train runs on this machine for a server",
      {"normlab worker --connect /shared/normlab/connect.json --data /scratch/normlab",
       "normlab worker --connect connect.json --gpus 0,1 --idle-timeout 5m"});
  AddServerOptions(verb, context);
  auto options = std::make_shared<WorkerOptions>();
  verb->add_option("--name", options->name, "name of this worker in its data folder")
      ->type_name("NAME");
  verb->add_option("--gpus", options->gpus, "GPUs to use, one trainer each (default: the CPUs)")
      ->delimiter(',')
      ->type_name("0,1");
  verb->add_option("--slots", options->slots, "trainers at a time (default: one per GPU, else 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  AddPolicies(verb, options);
  verb->add_flag("--local", options->local, "started by `normlab serve` on its own machine");
  verb->callback([&context, options] { RunWorkerVerb(context, *options); });
}

}  // namespace normlab::cli
