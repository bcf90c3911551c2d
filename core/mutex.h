#ifndef NORMLAB_CORE_MUTEX_H_
#define NORMLAB_CORE_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

// Annotated locks over std::mutex. (Debian's Abseil is built without instrumentation, so
// absl::Mutex gives false reports under TSan.) Clang checks the annotations; g++ sees nothing of
// them.

#if defined(__clang__)
#define NORMLAB_THREAD_ATTRIBUTE_(x) __attribute__((x))
#else
#define NORMLAB_THREAD_ATTRIBUTE_(x)
#endif
// Debian 12's Abseil still has these names, and means the same by them; whoever is included second
// must not define them again.
#ifndef GUARDED_BY
#define GUARDED_BY(mu) NORMLAB_THREAD_ATTRIBUTE_(guarded_by(mu))
#define EXCLUSIVE_LOCKS_REQUIRED(...) \
  NORMLAB_THREAD_ATTRIBUTE_(exclusive_locks_required(__VA_ARGS__))
#define LOCKS_EXCLUDED(...) NORMLAB_THREAD_ATTRIBUTE_(locks_excluded(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS NORMLAB_THREAD_ATTRIBUTE_(no_thread_safety_analysis)
#endif

namespace normlab {

class NORMLAB_THREAD_ATTRIBUTE_(lockable) Mutex {
 public:
  void Lock() NORMLAB_THREAD_ATTRIBUTE_(exclusive_lock_function()) { mu_.lock(); }
  void Unlock() NORMLAB_THREAD_ATTRIBUTE_(unlock_function()) { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

// Holds the lock for its scope.
class NORMLAB_THREAD_ATTRIBUTE_(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mu) NORMLAB_THREAD_ATTRIBUTE_(exclusive_lock_function(mu)) : mu_(mu) {
    mu_.Lock();
  }
  ~MutexLock() NORMLAB_THREAD_ATTRIBUTE_(unlock_function()) { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Waits with a time limit go through Clock::WaitUntil (core/clock.h), so that tests own the time.
class CondVar {
 public:
  // Caller holds `mu`; it is released while waiting. May wake for no reason: wait in a loop.
  void Wait(Mutex& mu) EXCLUSIVE_LOCKS_REQUIRED(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cond_.wait(lock);
    lock.release();
  }
  void NotifyOne() { cond_.notify_one(); }
  void NotifyAll() { cond_.notify_all(); }

 private:
  friend class RealClock;
  // As Wait, but gives up at `deadline`.
  void WaitUntil(Mutex& mu, std::chrono::steady_clock::time_point deadline)
      EXCLUSIVE_LOCKS_REQUIRED(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cond_.wait_until(lock, deadline);
    lock.release();
  }
  std::condition_variable cond_;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_MUTEX_H_
