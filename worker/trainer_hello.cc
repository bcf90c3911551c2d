#include "worker/trainer_hello.h"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/json.h"
#include "core/status.h"
#include "core/subprocess.h"
#include "core/version.h"
#include "nlohmann/json.hpp"

namespace normlab::worker {
namespace {

absl::Status FillFromTrainer(const std::string& trainer_path, v1::Hello& hello) {
  ASSIGN_OR_RETURN(const std::string output, OutputOf({trainer_path, "hello"}));
  ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(output));
  ASSIGN_OR_RETURN(const int64_t trainer_math, JsonInt(document, "trainer_math"));
  ASSIGN_OR_RETURN(*hello.mutable_trainer_build(), JsonText(document, "build"));
  ASSIGN_OR_RETURN(*hello.mutable_torch(), JsonText(document, "torch"));
  ASSIGN_OR_RETURN(*hello.mutable_isa(), JsonText(document, "isa"));
  hello.set_trainer_math(static_cast<int32_t>(trainer_math));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> OutputOf(std::vector<std::string> argv) {
  ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  SpawnOptions spawn;
  const std::string program = argv.front();
  spawn.argv = std::move(argv);
  spawn.stdout_fd = pipe.write.get();
  ASSIGN_OR_RETURN(const auto process, Subprocess::Start(spawn));
  pipe.write.Reset();
  std::string output;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(pipe.read.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.append(buffer, static_cast<size_t>(got));
  }
  const ExitInfo exit = process->Wait();
  if (exit.signal != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(program, " was ended by signal ", exit.signal));
  }
  if (exit.exit_code != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(program, " ended with exit code ", exit.exit_code));
  }
  return output;
}

v1::Hello AskTrainer(const std::string& trainer_path) {
  v1::Hello hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_build(kVersion);
  const absl::Status status = FillFromTrainer(trainer_path, hello);
  if (!status.ok()) {
    hello.set_trainer_error(
        std::string(AddContext(status, "The trainer cannot run here").message()));
  }
  return hello;
}

}  // namespace normlab::worker
