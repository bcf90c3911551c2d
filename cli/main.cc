// normlab: one program for people (submit, watch, compare …) and for the daemons (serve, worker).
// This file only puts the parts together; each verb lives in the file of its name.

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/context.h"
#include "cli/verbs.h"
#include "core/clock.h"
#include "core/knob.h"
#include "core/random.h"
#include "core/strings.h"
#include "core/version.h"

namespace normlab::cli {
namespace {

constexpr AddVerb kVerbs[] = {AddServe,  AddWorker,  AddSubmit,     AddLs,         AddShow,
                              AddRuns,   AddWatch,   AddLogs,       AddEvents,     AddExplain,
                              AddCancel, AddCompare, AddDivergence, AddQuery,      AddExport,
                              AddData,   AddConfig,  AddDoctor,     AddCompletion, AddOpen};

std::string ProgramPath() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "normlab" : path.string();
}

// The mode that NORMLAB_OUTPUT names; a flag of the verb overrides it.
absl::Status SetDefaultMode(Context& context) {
  const char* name = std::getenv("NORMLAB_OUTPUT");
  if (name == nullptr || *name == '\0' || ParseOutputMode(name, &context.mode)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      Cat("NORMLAB_OUTPUT is '", name, "'; it may be table, json, jsonl, csv, md or quiet"));
}

std::string_view NearestVerb(const CLI::App& app, const std::string& word) {
  std::vector<std::string_view> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return NearestName(word, names);
}

// Options of the verb that is on the command line.
std::vector<std::string> OptionsOf(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The library's message in words that say what to change.
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  const auto verbs = app.get_subcommands();
  if (verbs.empty()) return "what is to be done? Write a verb, such as: normlab submit FILE";
  const std::string verb = Cat("normlab ", verbs[0]->get_name());
  const std::string last = text.substr(text.rfind(' ') + 1);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const size_t colon = text.find(": ");
    const size_t equals = text.find(" = ");
    if (colon == std::string::npos || equals == std::string::npos) return text;
    return Cat(text.substr(colon + 2, equals - colon - 2), ": found '", text.substr(equals + 3),
               "'; should be a whole number");
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return text;
  if (!last.starts_with("--")) return Cat("'", last, "' is more than ", verb, " takes");
  const std::vector<std::string> options = OptionsOf(*verbs[0]);
  const std::string_view nearest =
      NearestName(last, std::vector<std::string_view>(options.begin(), options.end()));
  return Cat(verb, " has no option ", last,
             nearest.empty() ? "" : Cat("; did you mean ", nearest, "?"));
}

// One line that says what was wrong on the command line, and where help is.
void FailUsage(Context& context, CLI::App& app, const CLI::ParseError& error, int argc,
               char** argv) {
  const auto verbs = app.get_subcommands();
  std::string hint =
      Cat("see: normlab ", verbs.empty() ? "" : verbs[0]->get_name() + " ", "--help");
  std::string message = UsageMessage(app, error);
  if (verbs.empty() && argc > 1 && argv[1][0] != '-') {
    message = Cat("'", argv[1], "' is not a verb");
    if (const std::string_view nearest = NearestVerb(app, argv[1]); !nearest.empty()) {
      hint = Cat("did you mean: normlab ", nearest, "?");
    }
  }
  Fail(context, absl::InvalidArgumentError(message), hint);
}

int Run(Context& context, int argc, char** argv) {
  CLI::App app("normlab trains every cell of an ablation sweep exactly once and compares the arms");
  app.name("normlab");
  app.set_version_flag("--version", Cat("normlab ", kVersion));
  app.require_subcommand(1);
  app.fallthrough(false);
  for (AddVerb add : kVerbs) add(app, context);
  if (absl::Status status = SetDefaultMode(context); !status.ok()) {
    Fail(context, status);
    return context.exit_code;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, *context.out, *context.err);
    FailUsage(context, app, error, argc, argv);
  }
  return context.exit_code;
}

}  // namespace
}  // namespace normlab::cli

int main(int argc, char** argv) {
  normlab::cli::Context context;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.clock = &normlab::SystemClock();
  context.random = &normlab::OsRandom();
  context.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  context.err_is_terminal = isatty(STDERR_FILENO) == 1;
  context.program = normlab::cli::ProgramPath();
  return normlab::cli::Run(context, argc, argv);
}
