#ifndef NORMLAB_TESTS_FAKES_FAKE_EXECUTOR_H_
#define NORMLAB_TESTS_FAKES_FAKE_EXECUTOR_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "worker/executor.h"
#include "worker/held_attempt.h"

namespace normlab::worker {

// Trainers without processes. An attempt runs until the test finishes it or somebody wishes it to
// stop; what it has measured by then is what the test let it append. Thread-safe.
class FakeExecutor : public Executor {
 public:
  ExitRecord Run(const Launch& launch, const StopWish& stop, HeldAttempt& attempt) override {
    MutexLock lock(mu_);
    const RunId run = launch.envelope.run;
    launches_.push_back(launch);
    running_[run] = &attempt;
    changed_.NotifyAll();
    while (!exits_.contains(run) && !stop.Get().asked) WaitABit();
    running_.erase(run);
    changed_.NotifyAll();
    if (const auto exit = exits_.find(run); exit != exits_.end()) {
      return std::exchange(exits_.extract(exit).mapped(), {});
    }
    ExitRecord stopped;
    stopped.exit_code = static_cast<int>(TrainerExit::kPreempted);
    stopped.reason = std::string(ToString(stop.Get().reason));
    return stopped;
  }

  // Waits until the run's trainer is there, then lets it append one record.
  void Emit(RunId run, const Record& record) {
    MutexLock lock(mu_);
    while (!running_.contains(run)) changed_.Wait(mu_);
    CHECK_OK(running_[run]->Append(record));
  }

  // Lets the run's trainer, which need not have been started yet, end.
  void Finish(RunId run, ExitRecord exit = {}) {
    MutexLock lock(mu_);
    exits_[run] = std::move(exit);
    changed_.NotifyAll();
  }

  void AwaitRunning(RunId run) {
    MutexLock lock(mu_);
    while (!running_.contains(run)) changed_.Wait(mu_);
  }

  std::vector<Launch> launches() const {
    MutexLock lock(mu_);
    return launches_;
  }

 private:
  // StopWish has nothing to wait on: the real executor looks at it between reads of its pipes.
  void WaitABit() EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    SystemClock().WaitUntil(SystemClock().MonotonicNow() + absl::Milliseconds(5), mu_, changed_,
                            [] { return false; });
  }

  mutable Mutex mu_;
  CondVar changed_;
  std::map<RunId, HeldAttempt*> running_ GUARDED_BY(mu_);
  std::map<RunId, ExitRecord> exits_ GUARDED_BY(mu_);
  std::vector<Launch> launches_ GUARDED_BY(mu_);
};

}  // namespace normlab::worker

#endif  // NORMLAB_TESTS_FAKES_FAKE_EXECUTOR_H_
