// normlab-trainer: trains one run. The only program that links LibTorch.

#include <c10/util/Exception.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/outcome.h"
#include "core/version.h"
#include "model/environment.h"
#include "model/hello_command.h"
#include "model/intervene_command.h"
#include "model/run_command.h"
#include "model/stop_signal.h"
#include "model/tensor_commands.h"

namespace normlab::model {
namespace {

constexpr char kHelp[] =
    "normlab-trainer trains one run.\n"
    "\n"
    "  normlab-trainer run --config run.json --out DIR [--data DIR] [--threads N]\n"
    "      train on this machine; progress here, log and checkpoints in DIR\n"
    "  normlab-trainer run --config run.json --out DIR --resume\n"
    "      go on from the newest good checkpoint in DIR\n"
    "  normlab-trainer run --config envelope.json --frames FD\n"
    "      what a worker starts: records go to the file descriptor\n"
    "  normlab-trainer init --config run.json [--seed N] --out w.safetensors\n"
    "      the initial weights\n"
    "  normlab-trainer step --config run.json --weights w.safetensors --tokens t.bin\n"
    "                       --out o.safetensors [--step N]\n"
    "      loss, logits, hidden states and gradients of one step, without an update\n"
    "  normlab-trainer intervene --config run.json --tokens t.bin [--step N] [--json]\n"
    "                            [--weights w.safetensors | --checkpoint DIR]\n"
    "      one sublayer after the other, its input held fixed and its output projection scaled by\n"
    "      c = 1/4, 1, 4, 16: sensitivity by c, and the slope of its logarithm on that of c\n"
    "  normlab-trainer hello\n"
    "      one line of JSON: build, trainer_math, torch, instruction set, cuda\n"
    "  normlab-trainer --version | --help\n"
    "\n"
    "run.json holds any of the knobs that `normlab config` lists: {\"norm\": {\"placement\": "
    "\"geo\"}}.\n"
    "--composed-norms (run, step) takes the reference path of norms and residuals, for "
    "comparison.\n"
    "--data is a data folder, or the folder of one data set; default $NORMLAB_DATA.\n"
    "SIGTERM, SIGUSR1 and Ctrl-C write a checkpoint and end the run.\n"
    "\n"
    "Exit codes: 0 done, 3 stopped by the stop policy, 10 bad config or data, 11 out of memory,\n"
    "12 preempted after writing a checkpoint, 13 device lost.\n";

absl::StatusOr<TrainerExit> Dispatch(const std::string& verb,
                                     const std::vector<std::string>& arguments) {
  const auto done = [](const absl::Status& status) -> absl::StatusOr<TrainerExit> {
    if (!status.ok()) return status;
    return TrainerExit::kDone;
  };
  if (verb == "hello") return done(HelloCommand());
  if (verb == "run") return RunCommand(arguments);
  if (verb == "init") return done(InitCommand(arguments));
  if (verb == "step") return done(StepCommand(arguments));
  if (verb == "intervene") return done(InterveneCommand(arguments));
  return absl::InvalidArgumentError("there is no verb \"" + verb + "\"; see --help");
}

// What an error means to whoever started us. Unavailable is a reader that went away: nobody is left
// to be told. Aborted is a device that is not there.
int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return 1;
    case absl::StatusCode::kResourceExhausted:
      return static_cast<int>(TrainerExit::kOutOfMemory);
    case absl::StatusCode::kAborted:
      return static_cast<int>(TrainerExit::kDeviceLost);
    default:
      return static_cast<int>(TrainerExit::kBadConfig);
  }
}

// LibTorch's CPU allocator reports exhaustion by a plain error with a text.
bool IsOutOfMemory(const c10::Error& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         std::strstr(error.what(), "allocate memory") != nullptr;
}

bool IsDeviceLost(const c10::Error& error) {
  return std::strstr(error.what(), "CUDA error") != nullptr;
}

int Main(const std::vector<std::string>& arguments, char** argv) {
  const std::string verb = arguments.empty() ? "--help" : arguments[0];
  if (verb == "--help" || verb == "help" ||
      (arguments.size() > 1 && arguments.back() == "--help")) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (verb == "--version") {
    std::printf("normlab-trainer %s\n", kVersion);
    return 0;
  }
  if (verb == "run" || verb == "step" || verb == "intervene") WaitPassively(argv);
  InstallStopSignals();
  try {
    const absl::StatusOr<TrainerExit> exit =
        Dispatch(verb, {arguments.begin() + 1, arguments.end()});
    if (exit.ok()) return static_cast<int>(*exit);
    std::fprintf(stderr, "normlab-trainer: %s\n", std::string(exit.status().message()).c_str());
    return ExitCodeOf(exit.status());
  } catch (const std::bad_alloc&) {
    std::fputs("normlab-trainer: out of memory\n", stderr);
    return static_cast<int>(TrainerExit::kOutOfMemory);
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "normlab-trainer: %s\n", error.what_without_backtrace());
    if (IsOutOfMemory(error)) return static_cast<int>(TrainerExit::kOutOfMemory);
    if (IsDeviceLost(error)) return static_cast<int>(TrainerExit::kDeviceLost);
    return 1;
  }
}

}  // namespace
}  // namespace normlab::model

int main(int argc, char** argv) { return normlab::model::Main({argv + 1, argv + argc}, argv); }
