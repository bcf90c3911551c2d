#ifndef NORMLAB_WORKER_WAKE_H_
#define NORMLAB_WORKER_WAKE_H_

#include <utility>

#include "absl/time/time.h"
#include "core/clock.h"
#include "core/mutex.h"

namespace normlab::worker {

// Lets one thread wait for "something happened" or a point in time. A notification that comes while
// nobody waits is kept for the next wait, so none is lost. Thread-safe.
class Wake {
 public:
  // `clock` outlives this.
  explicit Wake(Clock& clock) : clock_(clock) {}

  void Notify() {
    MutexLock lock(mu_);
    notified_ = true;
    cond_.NotifyAll();
  }

  // Waits for a notification, no longer than `timeout`. True when there was one; it is used up.
  bool WaitFor(absl::Duration timeout) {
    MutexLock lock(mu_);
    clock_.WaitUntil(clock_.MonotonicNow() + timeout, mu_, cond_, [this] { return notified_; });
    return std::exchange(notified_, false);
  }

 private:
  Clock& clock_;
  Mutex mu_;
  CondVar cond_;
  bool notified_ GUARDED_BY(mu_) = false;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_WAKE_H_
