#include "core/subprocess.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "core/check.h"
#include "core/file.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/strings.h"

extern "C" char** environ;

namespace normlab {

namespace {

// Descriptor numbers that children are promised lie below this, copies made for the spawn above it.
constexpr int kFirstFreeFd = 64;

class FileActions {
 public:
  FileActions() { CHECK(posix_spawn_file_actions_init(&actions_) == 0); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void Dup(int from, int to) { CHECK(posix_spawn_file_actions_adddup2(&actions_, from, to) == 0); }
  void ChangeDir(const std::string& dir) {
    CHECK(posix_spawn_file_actions_addchdir_np(&actions_, dir.c_str()) == 0);
  }
  void CloseFrom(int fd) { CHECK(posix_spawn_file_actions_addclosefrom_np(&actions_, fd) == 0); }
  void Close(int fd) { CHECK(posix_spawn_file_actions_addclose(&actions_, fd) == 0); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Signals as a new program expects them: ours may be blocked or ignored (SIGPIPE is).
class SpawnAttributes {
 public:
  explicit SpawnAttributes(bool own_group) {
    CHECK(posix_spawnattr_init(&attributes_) == 0);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    const int group = own_group ? POSIX_SPAWN_SETPGROUP : 0;
    posix_spawnattr_setflags(
        &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// Keeps the calling thread on `cpus` for its scope: a child inherits the affinity of the thread
// that spawns it. No CPUs: changes nothing.
class ScopedAffinity {
 public:
  explicit ScopedAffinity(const std::vector<int>& cpus) {
    if (cpus.empty()) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &wanted);
    if (sched_getaffinity(0, sizeof(before_), &before_) != 0 ||
        sched_setaffinity(0, sizeof(wanted), &wanted) != 0) {
      status_ = ErrnoStatus(errno, "setting the CPUs of a new process");
      return;
    }
    changed_ = true;
  }
  ~ScopedAffinity() {
    if (changed_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  ScopedAffinity(const ScopedAffinity&) = delete;
  ScopedAffinity& operator=(const ScopedAffinity&) = delete;
  const absl::Status& status() const { return status_; }

 private:
  cpu_set_t before_;
  bool changed_ = false;
  absl::Status status_;
};

std::vector<std::string> Environment(const SpawnOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const std::string& name : options.env_unset) variables.erase(name);
  for (const auto& [name, value] : options.env_overrides) variables[name] = value;
  variables[kParentPidVariable] = Cat(getpid());
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(Cat(name, "=", value));
  return entries;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<InheritedFd> AllFds(const SpawnOptions& options, int null_fd) {
  std::vector<InheritedFd> fds = options.inherited_fds;
  fds.push_back({0, options.stdin_fd >= 0 ? options.stdin_fd : null_fd});
  fds.push_back({1, options.stdout_fd >= 0 ? options.stdout_fd : 1});
  fds.push_back({2, options.stderr_fd >= 0 ? options.stderr_fd : 2});
  return fds;
}

// Copies every descriptor out of the way first, since one's number may be another's target.
absl::Status AddFds(const std::vector<InheritedFd>& fds, FileActions& actions,
                    std::vector<Fd>& copies) {
  int highest = 2;
  for (const InheritedFd& fd : fds) {
    if (fd.child_fd >= kFirstFreeFd) {
      return InvalidArgument("a child's descriptor must be below ", kFirstFreeFd);
    }
    highest = std::max(highest, fd.child_fd);
    const int copy = fcntl(fd.parent_fd, F_DUPFD_CLOEXEC, kFirstFreeFd);
    if (copy < 0) return ErrnoStatus(errno, Cat("descriptor ", fd.parent_fd));
    copies.emplace_back(copy);
    actions.Dup(copy, fd.child_fd);
  }
  for (int fd = 3; fd < highest; ++fd) {
    const bool wanted = std::any_of(fds.begin(), fds.end(), [fd](const InheritedFd& inherited) {
      return inherited.child_fd == fd;
    });
    if (!wanted) actions.Close(fd);
  }
  actions.CloseFrom(highest + 1);
  return absl::OkStatus();
}

ExitInfo MakeExitInfo(int status, const struct rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  ExitInfo info;
  if (WIFSIGNALED(status)) {
    info.signal = WTERMSIG(status);
  } else {
    info.exit_code = WEXITSTATUS(status);
  }
  info.max_rss_bytes = int64_t{usage.ru_maxrss} * 1024;
  info.user_seconds = seconds(usage.ru_utime);
  info.system_seconds = seconds(usage.ru_stime);
  return info;
}

}  // namespace

struct Subprocess::State {
  Mutex mu;
  std::optional<ExitInfo> exit GUARDED_BY(mu);
};

Subprocess::Subprocess(pid_t pid, std::unique_ptr<State> state)
    : pid_(pid), state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<Subprocess>> Subprocess::Start(const SpawnOptions& options) {
  if (options.argv.empty()) return InvalidArgument("no program to start");
  ASSIGN_OR_RETURN(const Fd null, OpenFd("/dev/null", O_RDONLY));
  FileActions actions;
  std::vector<Fd> copies;
  RETURN_IF_ERROR(AddFds(AllFds(options, null.get()), actions, copies));
  if (!options.working_dir.empty()) actions.ChangeDir(options.working_dir);
  const ScopedAffinity affinity(options.cpus);
  RETURN_IF_ERROR(affinity.status());
  const SpawnAttributes attributes(options.own_group);
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> environment = Environment(options);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0].c_str(), actions.get(), attributes.get(),
                                 Pointers(argv).data(), Pointers(environment).data());
  if (error != 0) return ErrnoStatus(error, Cat("starting ", argv[0]));
  return std::unique_ptr<Subprocess>(new Subprocess(pid, std::make_unique<State>()));
}

Subprocess::~Subprocess() {
  if (!TryWait()) {
    kill(pid_, SIGKILL);
    Wait();
  }
}

absl::Status Subprocess::Signal(int signal) {
  // Reaping happens under the lock as well, so while we hold it the pid is the child's.
  MutexLock lock(state_->mu);
  if (state_->exit) return NotFound("process ", pid_, " has ended");
  if (kill(pid_, signal) != 0) return ErrnoStatus(errno, Cat("signalling process ", pid_));
  return absl::OkStatus();
}

ExitInfo Subprocess::Wait() {
  // Waits without reaping first: the lock cannot be held meanwhile, or Signal would block.
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) break;  // ECHILD: another caller reaped it
  }
  return Reap();
}

std::optional<ExitInfo> Subprocess::TryWait() {
  {
    MutexLock lock(state_->mu);
    if (state_->exit) return state_->exit;
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
        info.si_pid == 0) {
      return std::nullopt;
    }
  }
  return Reap();
}

ExitInfo Subprocess::Reap() {
  MutexLock lock(state_->mu);
  if (!state_->exit) {
    int status = 0;
    struct rusage usage = {};
    pid_t reaped;
    do {
      reaped = wait4(pid_, &status, 0, &usage);
    } while (reaped < 0 && errno == EINTR);
    CHECK(reaped == pid_) << "somebody else reaped our child " << pid_;
    state_->exit = MakeExitInfo(status, usage);
  }
  return *state_->exit;
}

}  // namespace normlab
