#ifndef NORMLAB_CORE_SUBPROCESS_H_
#define NORMLAB_CORE_SUBPROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace normlab {

struct InheritedFd {
  int child_fd;   // number in the child
  int parent_fd;  // stays open in the parent, which closes it when it likes
};

struct SpawnOptions {
  std::vector<std::string> argv;                     // argv[0]: a path, or a name looked up in PATH
  std::map<std::string, std::string> env_overrides;  // added to, or replacing, our own environment
  std::vector<std::string> env_unset;
  // Descriptors the child gets, besides 0, 1, 2. All others are closed in it.
  std::vector<InheritedFd> inherited_fds;
  int stdin_fd = -1;   // -1: /dev/null
  int stdout_fd = -1;  // -1: ours
  int stderr_fd = -1;  // -1: ours
  // A process group of its own: a Ctrl-C at the terminal reaches only us, and we pass it on.
  bool own_group = true;
  std::vector<int> cpus;    // CPUs the child may run on; empty: as ours
  std::string working_dir;  // empty: ours
};

struct ExitInfo {
  int exit_code = 0;  // 0 when a signal ended it
  int signal = 0;     // 0 when it exited by itself
  int64_t max_rss_bytes = 0;
  double user_seconds = 0;
  double system_seconds = 0;
};

// One child process, started by posix_spawn (never fork: the parent has threads, and gRPC hooks
// fork). Thread-safe: one thread may sit in Wait() while others call Signal(). A child that was not
// waited for is killed and reaped when its owner goes, so no orphan is left by an early return.
//
// posix_spawn cannot ask for PR_SET_PDEATHSIG: a child that must not outlive its parent asks for it
// itself, and besides watches for end-of-file on a pipe whose other end only the parent holds
// (normlab-trainer does both). $NORMLAB_PARENT_PID tells it whom to compare getppid() with.
class Subprocess {
 public:
  // NotFound when the program is not there, InvalidArgument for an empty argv.
  static absl::StatusOr<std::unique_ptr<Subprocess>> Start(const SpawnOptions& options);
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t Pid() const { return pid_; }

  // NotFound when the child has been reaped: the signal can never hit a reused pid.
  absl::Status Signal(int signal);

  // Blocks until the child ends, and reaps it. May be called again: the same answer.
  ExitInfo Wait();

  // As Wait, but empty while the child still runs.
  std::optional<ExitInfo> TryWait();

 private:
  struct State;
  Subprocess(pid_t pid, std::unique_ptr<State> state);
  ExitInfo Reap();

  const pid_t pid_;
  const std::unique_ptr<State> state_;
};

// Name of the environment variable that Start sets to our pid.
inline constexpr char kParentPidVariable[] = "NORMLAB_PARENT_PID";

}  // namespace normlab

#endif  // NORMLAB_CORE_SUBPROCESS_H_
