#ifndef NORMLAB_TESTS_FAKES_FAKE_CLOCK_H_
#define NORMLAB_TESTS_FAKES_FAKE_CLOCK_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "core/clock.h"

namespace normlab {

// Time that moves only when the test says so. Advance() goes from one deadline to the next in order
// (equal deadlines: who waited first), and returns only after every wait that became due has
// returned, so that nothing is left to chance. Wall and monotonic time move together.
//
// A mutex and a CondVar that a wait was given must outlive the Advance() that ends it, and Advance()
// must not be called with that mutex held.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time wall = absl::FromUnixSeconds(1767225600))  // 2026-01-01
      : wall_offset_(wall - absl::UnixEpoch()) {}

  absl::Time Now() const override { return MonotonicNow() + wall_offset_; }

  absl::Time MonotonicNow() const override {
    const std::lock_guard<std::mutex> lock(mu_);
    return now_;
  }

  bool WaitUntil(absl::Time deadline, Mutex& mu, CondVar& cond,
                 absl::FunctionRef<bool()> predicate) override NO_THREAD_SAFETY_ANALYSIS {
    if (predicate()) return true;
    if (MonotonicNow() >= deadline) return false;
    const Key key = Enter(deadline, mu, cond);
    bool held = predicate();
    while (!held && MonotonicNow() < deadline) {
      cond.Wait(mu);
      held = predicate();
    }
    Leave(key);
    return held;
  }

  void Advance(absl::Duration by) { AdvanceTo(MonotonicNow() + by); }

  void AdvanceTo(absl::Time target) {
    while (FireNext(target)) {
    }
    const std::lock_guard<std::mutex> lock(mu_);
    if (target > now_) now_ = target;
  }

  // Blocks until `count` threads sit in WaitUntil: the real event to wait for before Advance().
  void AwaitWaiters(size_t count) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return waits_.size() >= count; });
  }

 private:
  using Key = std::pair<absl::Time, uint64_t>;  // deadline, order of arrival
  struct Wait {
    Mutex* mu;
    CondVar* cond;
  };

  Key Enter(absl::Time deadline, Mutex& mu, CondVar& cond) {
    const std::lock_guard<std::mutex> lock(mu_);
    const Key key(deadline, ++arrivals_);
    waits_.emplace(key, Wait{&mu, &cond});
    changed_.notify_all();
    return key;
  }

  void Leave(const Key& key) {
    const std::lock_guard<std::mutex> lock(mu_);
    waits_.erase(key);
    changed_.notify_all();
  }

  // Moves to the earliest deadline up to `target` and sees that wait out; false when there is none.
  bool FireNext(absl::Time target) {
    std::unique_lock<std::mutex> lock(mu_);
    if (waits_.empty() || waits_.begin()->first.first > target) return false;
    const auto [key, wait] = *waits_.begin();
    if (key.first > now_) now_ = key.first;
    lock.unlock();
    {
      // With its mutex held the waiter is either not yet blocked, and will see the time, or blocked.
      MutexLock waiter(*wait.mu);
      wait.cond->NotifyAll();
    }
    lock.lock();
    changed_.wait(lock, [&, k = key] { return waits_.find(k) == waits_.end(); });
    return true;
  }

  const absl::Duration wall_offset_;
  mutable std::mutex mu_;
  std::condition_variable changed_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<Key, Wait> waits_;
  uint64_t arrivals_ = 0;
};

}  // namespace normlab

#endif  // NORMLAB_TESTS_FAKES_FAKE_CLOCK_H_
