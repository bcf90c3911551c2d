#include "cli/program_output.h"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/strip.h"
#include "core/file.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/subprocess.h"

namespace normlab::cli {
namespace {

absl::StatusOr<std::string> ReadToEnd(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got > 0) text.append(buffer, static_cast<size_t>(got));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) return ErrnoStatus(errno, "read from a pipe");
  }
}

}  // namespace

absl::StatusOr<std::string> ProgramOutput(const std::vector<std::string>& argv) {
  ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  SpawnOptions options;
  options.argv = argv;
  options.stdout_fd = pipe.write.get();
  options.stderr_fd = pipe.write.get();
  ASSIGN_OR_RETURN(std::unique_ptr<Subprocess> child, Subprocess::Start(options));
  pipe.write.Reset();
  ASSIGN_OR_RETURN(std::string text, ReadToEnd(pipe.read.get()));
  const ExitInfo exit = child->Wait();
  if (exit.exit_code != 0 || exit.signal != 0) {
    return absl::InternalError(Cat(
        argv[0], " ended with ", exit.signal != 0 ? "signal " : "exit code ",
        exit.signal != 0 ? exit.signal : exit.exit_code, ": ", text.substr(0, text.find('\n'))));
  }
  return std::string(absl::StripSuffix(text, "\n"));
}

}  // namespace normlab::cli
