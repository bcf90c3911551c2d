#include "worker/worker.h"

#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/clock.h"
#include "core/data_folder.h"
#include "core/file.h"
#include "core/process_lock.h"
#include "core/random.h"
#include "core/status.h"
#include "core/subprocess.h"
#include "worker/attempt_store.h"
#include "worker/dataset_cache.h"
#include "worker/device_probe.h"
#include "worker/grpc_server_link.h"
#include "worker/leftovers.h"
#include "worker/relay.h"
#include "worker/session.h"
#include "worker/slots.h"
#include "worker/stop_signals.h"
#include "worker/subprocess_executor.h"
#include "worker/trainer_hello.h"
#include "worker/worker_loop.h"

namespace normlab::worker {
namespace {

constexpr absl::Duration kLockPause = absl::Milliseconds(200);
constexpr absl::Duration kLongestWait = absl::Seconds(10);  // of a call, for news

// Stable over restarts: `RunWorker` of the same name in the same folder is the same worker.
absl::StatusOr<WorkerId> ReadOrMakeWorkerId(const std::string& path, const std::string& name,
                                            RandomSource& random) {
  auto known = ReadFile(path);
  if (known.ok() && !known->empty()) return WorkerId(*known);
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  const std::string id = absl::StrCat(host, "-", name, "-", random.HexToken(3));
  RETURN_IF_ERROR(WriteFileDurably(path, id));
  return WorkerId(id);
}

// The server that started us is gone; then nobody needs a worker that waits for its turn.
bool ParentIsGone() {
  const char* parent = ::getenv(kParentPidVariable);
  int pid = 0;
  return parent != nullptr && absl::SimpleAtoi(parent, &pid) && ::getppid() != pid;
}

// Waits until no living process has our name. Empty when there is no more reason to wait. Whoever
// asks a waiting local worker to end means the older one too: it is a child of a server that was
// killed, and nobody else is left to tell it.
absl::StatusOr<std::optional<ProcessLock>> WaitForName(const std::string& path, bool local,
                                                       const std::atomic<int>& stops, Wake& wake) {
  bool said = false;
  for (int passed_on = 0;;) {
    auto lock = ProcessLock::TryTake(path);
    if (lock.ok() && stops > 0) return std::optional<ProcessLock>();
    if (lock.ok()) return std::optional<ProcessLock>(*std::move(lock));
    if (!absl::IsAlreadyExists(lock.status())) return lock.status();
    if (!std::exchange(said, true)) {
      spdlog::info("waiting for an older worker to end: {}", std::string(lock.status().message()));
    }
    wake.WaitFor(kLockPause);
    if (local ? ParentIsGone() : stops > 0) return std::optional<ProcessLock>();
    for (; passed_on < stops; ++passed_on) {
      ProcessLock::SignalHolder(path, SIGTERM).IgnoreError();  // it may just have ended
    }
  }
}

// One worker with all its parts, in the order in which they need each other.
class WorkerProcess {
 public:
  WorkerProcess(const WorkerOptions& options, std::string dir, const ProcessLock& lock,
                const WorkerId& worker, std::string store_id)
      : options_(options),
        folder_(options.data_dir),
        slot_count_(options.slots > 0 ? options.slots
                                      : std::max<int>(1, static_cast<int>(options.gpus.size()))),
        incarnation_(OsRandom().HexToken(8)),
        wakes_(SystemClock()),
        link_(options.connect_file),
        store_(std::move(dir), [this] { wakes_.record.Notify(); }),
        datasets_(folder_.Datasets(), link_),
        executor_({.trainer_path = options.trainer_path}, SystemClock()),
        slots_(DivideAmongSlots(slot_count_, UsableCpus(), options.gpus), folder_, executor_,
               datasets_, SystemClock(), [this] { wakes_.OnAttemptEnded(); }),
        relay_({worker, incarnation_}, store_, link_),
        session_({.worker = worker,
                  .incarnation = incarnation_,
                  .store_id = std::move(store_id),
                  .hello = AskTrainer(options.trainer_path),
                  .resources = ProbeResources(slot_count_, options.gpus),
                  .local = options.local,
                  .wait = std::min(kLongestWait, options.idle_timeout),
                  .adopt =
                      [attempts = folder_.Attempts(), name = options.name](
                          AttemptStore& store, const std::string& instance) {
                        return TakeOverLeftovers(attempts, name, store, instance);
                      }},
                 store_, slots_, link_, SystemClock(), OsRandom()),
        loop_(options_, session_, relay_, slots_, store_, wakes_, SystemClock()) {
    loop_.SetOwnership([&lock] { return lock.StillHeld(); });
  }

  int Run() { return loop_.Run(); }
  void AskToStop() { loop_.AskToStop(); }

 private:
  const WorkerOptions& options_;
  const DataFolder folder_;
  const int slot_count_;
  const Incarnation incarnation_;
  WorkerWakes wakes_;
  GrpcServerLink link_;
  AttemptStore store_;
  DatasetCache datasets_;
  SubprocessExecutor executor_;
  Slots slots_;
  Relay relay_;
  Session session_;
  WorkerLoop loop_;
};

absl::StatusOr<int> Run(const WorkerOptions& options) {
  const DataFolder folder(options.data_dir);
  const std::string dir = JoinPath(folder.Attempts(), options.name);
  RETURN_IF_ERROR(MakeDirs(dir));

  // Signals may come before the worker is there to hear them: they are counted, and told later.
  std::atomic<int> stops = 0;
  Wake lock_wake(SystemClock());
  Mutex mu;
  WorkerProcess* running = nullptr;
  ASSIGN_OR_RETURN(const auto signals, StopSignals::Catch([&](int) {
                     MutexLock lock(mu);
                     ++stops;
                     lock_wake.Notify();
                     if (running != nullptr) running->AskToStop();
                   }));
  ASSIGN_OR_RETURN(const auto lock,
                   WaitForName(JoinPath(dir, "LOCK"), options.local, stops, lock_wake));
  if (!lock.has_value()) return 0;

  ASSIGN_OR_RETURN(const std::string store_id, StoreId(folder, OsRandom()));
  ASSIGN_OR_RETURN(const WorkerId worker,
                   ReadOrMakeWorkerId(JoinPath(dir, "worker_id"), options.name, OsRandom()));
  WorkerProcess process(options, dir, *lock, worker, store_id);
  spdlog::info("worker {} takes attempts from the server of {}", ToString(worker),
               options.connect_file);
  {
    MutexLock guard(mu);
    running = &process;
    if (stops > 0) process.AskToStop();
  }
  const int exit_code = process.Run();
  MutexLock guard(mu);
  running = nullptr;
  return exit_code;
}

}  // namespace

int RunWorker(const WorkerOptions& options) {
  auto log = std::make_shared<spdlog::logger>(
      options.name, std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  spdlog::set_default_logger(std::move(log));
  if (options.connect_file.empty() || options.data_dir.empty() || options.name.empty()) {
    spdlog::error("a worker needs a connect file, a data folder and a name");
    return kExitUsage;
  }
  const auto exit_code = Run(options);
  if (exit_code.ok()) return *exit_code;
  spdlog::error("{}", std::string(exit_code.status().message()));
  return kExitRefused;
}

}  // namespace normlab::worker
