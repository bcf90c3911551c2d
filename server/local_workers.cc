#include "server/local_workers.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "core/file.h"
#include "core/strings.h"

namespace normlab::server {
namespace {

constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLongestPause = absl::Minutes(1);
// A worker that lived for so long was fine: the next pause is short again.
constexpr absl::Duration kLivedWell = absl::Minutes(1);
constexpr char kDriverGpus[] = "/proc/driver/nvidia/gpus";

std::string NameOf(int index) { return Cat("local-", index + 1); }

// What the worker says goes to a file of its own: it may outlive us and our terminal.
absl::StatusOr<Fd> OpenLog(const DataFolder& data, int index) {
  absl::Status made = MakeDirs(data.Logs());
  if (!made.ok()) return made;
  return OpenFd(JoinPath(data.Logs(), NameOf(index) + ".log"), O_WRONLY | O_CREAT | O_APPEND, 0600);
}

}  // namespace

std::vector<std::string> LocalGpus() {
  std::vector<std::string> gpus;
  if (const char* visible = getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    for (const std::string_view gpu : Split(visible, ',')) {
      if (!StripSpace(gpu).empty() && gpu != "-1") gpus.emplace_back(StripSpace(gpu));
    }
    return gpus;
  }
  const absl::StatusOr<std::vector<std::string>> found = ListDir(kDriverGpus);
  for (size_t i = 0; found.ok() && i < found->size(); ++i) gpus.push_back(std::to_string(i));
  return gpus;
}

std::vector<int> LocalCpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

SpawnOptions LocalWorkerCommand(const LocalWorkersOptions& options, const DataFolder& data,
                                int index) {
  SpawnOptions spawn;
  spawn.argv = {options.program, "worker",           "--local", "--name",   NameOf(index),
                "--connect",     data.ConnectFile(), "--data",  data.root()};
  std::vector<std::string> gpus;
  for (size_t i = static_cast<size_t>(index); i < options.gpus.size();
       i += static_cast<size_t>(options.count)) {
    gpus.push_back(options.gpus[i]);
  }
  if (!gpus.empty()) {
    spawn.argv.emplace_back("--gpus");
    spawn.argv.push_back(Join(gpus, ","));
  }
  if (!options.trainer_path.empty()) {
    spawn.env_overrides["NORMLAB_TRAINER"] = options.trainer_path;
  }
  const size_t count = static_cast<size_t>(options.count);
  const size_t place = static_cast<size_t>(index);
  if (count > 1 && count <= options.cpus.size()) {
    const size_t begin = place * options.cpus.size() / count;
    const size_t end = (place + 1) * options.cpus.size() / count;
    spawn.cpus.assign(options.cpus.begin() + static_cast<std::ptrdiff_t>(begin),
                      options.cpus.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return spawn;
}

LocalWorkers::LocalWorkers(LocalWorkersOptions options, const DataFolder& data, Clock& clock)
    : options_(std::move(options)),
      data_(data),
      clock_(clock),
      supervised_(options_.count),
      running_(static_cast<size_t>(options_.count)) {
  for (int index = 0; index < options_.count; ++index) {
    threads_.emplace_back([this, index] { Supervise(index); });
  }
}

LocalWorkers::~LocalWorkers() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

void LocalWorkers::Stop() {
  MutexLock lock(mu_);
  stopping_ = true;
  stop_cond_.NotifyAll();
  for (const auto& worker : running_) {
    // One that has just ended needs no signal.
    if (worker != nullptr) worker->Signal(SIGTERM).IgnoreError();
  }
}

bool LocalWorkers::Ended() {
  MutexLock lock(mu_);
  return supervised_ == 0;
}

bool LocalWorkers::Pause(absl::Duration period) {
  MutexLock lock(mu_);
  return clock_.WaitUntil(clock_.MonotonicNow() + period, mu_, stop_cond_,
                          [this]() NO_THREAD_SAFETY_ANALYSIS { return stopping_; });
}

void LocalWorkers::Supervise(int index) {
  const size_t place = static_cast<size_t>(index);
  absl::Duration pause = kFirstPause;
  do {
    const absl::Time started = clock_.MonotonicNow();
    absl::StatusOr<Fd> log = OpenLog(data_, index);
    SpawnOptions command = LocalWorkerCommand(options_, data_, index);
    if (log.ok()) command.stdout_fd = command.stderr_fd = log->get();
    absl::StatusOr<std::unique_ptr<Subprocess>> child = absl::UnknownError("not started");
    std::shared_ptr<Subprocess> worker;
    {
      // Under the lock, so that Stop either finds the child or keeps it from being started.
      MutexLock lock(mu_);
      if (stopping_) break;
      child = Subprocess::Start(command);
      if (child.ok()) worker = running_[place] = std::move(*child);
    }
    if (worker == nullptr) {
      std::cerr << "normlab serve: cannot start " << NameOf(index) << ": "
                << child.status().message() << std::endl;
    } else {
      const ExitInfo exit = worker->Wait();
      MutexLock lock(mu_);
      running_[place] = nullptr;
      if (stopping_) break;
      std::cerr << "normlab serve: " << NameOf(index) << " ended (exit code " << exit.exit_code
                << ", signal " << exit.signal
                << "); its log: " << JoinPath(data_.Logs(), NameOf(index) + ".log") << std::endl;
    }
    const bool lived_well = clock_.MonotonicNow() - started >= kLivedWell;
    pause = lived_well ? kFirstPause : std::min(pause * 2, kLongestPause);
  } while (!Pause(pause));
  MutexLock lock(mu_);
  --supervised_;
}

}  // namespace normlab::server
