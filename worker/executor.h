#ifndef NORMLAB_WORKER_EXECUTOR_H_
#define NORMLAB_WORKER_EXECUTOR_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/envelope.h"
#include "core/mutex.h"
#include "core/outcome.h"
#include "core/record.h"

namespace normlab::worker {

class HeldAttempt;

// What one trainer is started with.
struct Launch {
  Envelope envelope;      // complete: paths, threads and device filled in
  std::string work_dir;   // of this attempt; the executor may leave files there
  std::string gpu;        // CUDA_VISIBLE_DEVICES of the trainer; "": no GPU
  std::vector<int> cpus;  // CPUs it may use; empty: any
  absl::Duration time_limit = absl::InfiniteDuration();   // from the start
  absl::Duration stall_limit = absl::InfiniteDuration();  // without a record
};

// Somebody's wish that an attempt end. Thread-safe. Wishes only get stronger: the first reason
// stays.
class StopWish {
 public:
  // `reason` is what the exit record will say. `now` true: kill, without waiting for a checkpoint.
  void Ask(FailureKind reason, bool now = false);

  struct Wish {
    bool asked = false;
    bool now = false;
    FailureKind reason = FailureKind::kNone;
  };
  Wish Get() const;

 private:
  mutable Mutex mu_;
  Wish wish_ GUARDED_BY(mu_);
};

// Runs trainers. Thread-safe: one call per running attempt, each on a thread of its own.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs one attempt to its end, whatever that is, appending everything it says to the attempt's
  // log as it comes. Blocks. Looks at `stop` at least twice a second. The exit record that is
  // returned is not yet in the log; a trainer that could not be started gives one with a reason and
  // the cause in its last lines.
  virtual ExitRecord Run(const Launch& launch, const StopWish& stop, HeldAttempt& attempt) = 0;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_EXECUTOR_H_
