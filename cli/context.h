#ifndef NORMLAB_CLI_CONTEXT_H_
#define NORMLAB_CLI_CONTEXT_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/output.h"
#include "core/clock.h"
#include "core/random.h"

namespace CLI {
class App;
}

namespace normlab::cli {

// What every verb gets from main: where to print, the injected outside world, and the options
// shared by all verbs. Lives for the whole program; one thread.
struct Context {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  Clock* clock = nullptr;
  RandomSource* random = nullptr;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::string program;  // absolute path of this binary; its siblings are found beside it

  // Options of the verb that runs.
  std::string connect;  // --connect FILE
  std::string data;     // --data DIR
  OutputMode mode = OutputMode::kTable;

  int exit_code = 0;
};

// Exit codes of INTERFACES (command line): what a script can rely on.
enum ExitCode {
  kExitFine = 0,
  kExitRunsFailed = 1,
  kExitUsage = 2,
  kExitNotFound = 3,
  kExitRefused = 4,
  kExitUnreachable = 5,
  kExitPartial = 6,
  kExitTimedOut = 124,
  kExitInterrupted = 130,
};

int ExitCodeOf(const absl::Status& status);

// Prints "normlab: message" to the error stream, and with --json also the error document to the
// output stream; sets the exit code. `hint` is a second line that says what to do.
void Fail(Context& context, const absl::Status& status, const std::string& hint = "");

// A verb: registers its subcommand with options and the callback that does the work. The callback
// reports failure by Fail and never throws.
using AddVerb = void (*)(CLI::App& app, Context& context);

// Creates the subcommand `name`; `examples` are shown first by --help.
CLI::App* AddSubcommand(CLI::App& app, const std::string& name, const std::string& summary,
                        const std::vector<std::string>& examples);

// --connect and --data.
void AddServerOptions(CLI::App* verb, Context& context);

// --json, --jsonl, --csv, --md, --quiet and --output MODE; the default comes from NORMLAB_OUTPUT.
void AddOutputOptions(CLI::App* verb, Context& context);

// Prints rows in the chosen mode.
void Print(Context& context, const nlohmann::json& document, const nlohmann::json& rows,
           std::vector<Column> columns, std::string id_key = "id");

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_CONTEXT_H_
