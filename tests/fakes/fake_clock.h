#ifndef NORMLAB_TESTS_FAKES_FAKE_CLOCK_H_
#define NORMLAB_TESTS_FAKES_FAKE_CLOCK_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "core/clock.h"

namespace normlab {

// Time that moves only when the test says so. Advance() goes from one deadline to the next in order
// (equal deadlines: who waited first), and returns only after every wait that became due has
// returned, so that nothing is left to chance. Wall and monotonic time move together.
//
// A mutex and a CondVar that a wait was given must outlive the Advance() that ends it, and
// Advance() must not be called with that mutex held.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time wall = absl::FromUnixSeconds(1767225600))  // 2026-01-01
      : wall_offset_(wall - absl::UnixEpoch()) {}

  absl::Time Now() const override { return MonotonicNow() + wall_offset_; }

  absl::Time MonotonicNow() const override {
    MutexLock lock(mu_);
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
    MutexLock lock(mu_);
    if (target > now_) now_ = target;
  }

  // Blocks until `count` threads sit in WaitUntil: the real event to wait for before Advance().
  void AwaitWaiters(size_t count) {
    MutexLock lock(mu_);
    while (waits_.size() < count) changed_.Wait(mu_);
  }

 private:
  using Key = std::pair<absl::Time, uint64_t>;  // deadline, order of arrival
  struct Wait {
    Mutex* mu;
    CondVar* cond;
  };

  Key Enter(absl::Time deadline, Mutex& mu, CondVar& cond) {
    MutexLock lock(mu_);
    const Key key(deadline, ++arrivals_);
    waits_.emplace(key, Wait{&mu, &cond});
    changed_.NotifyAll();
    return key;
  }

  void Leave(const Key& key) {
    MutexLock lock(mu_);
    waits_.erase(key);
    changed_.NotifyAll();
  }

  // Moves to the earliest deadline up to `target` and sees that wait out; false when there is none.
  bool FireNext(absl::Time target) {
    Key key;
    Wait wait;
    {
      MutexLock lock(mu_);
      if (waits_.empty() || waits_.begin()->first.first > target) return false;
      std::tie(key, wait) = *waits_.begin();
      if (key.first > now_) now_ = key.first;
    }
    {
      // With its mutex held the waiter is either not yet blocked, and will see the time, or
      // blocked.
      MutexLock waiter(*wait.mu);
      wait.cond->NotifyAll();
    }
    MutexLock lock(mu_);
    while (waits_.find(key) != waits_.end()) changed_.Wait(mu_);
    return true;
  }

  const absl::Duration wall_offset_;
  mutable Mutex mu_;
  CondVar changed_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<Key, Wait> waits_;
  uint64_t arrivals_ = 0;
};

}  // namespace normlab

#endif  // NORMLAB_TESTS_FAKES_FAKE_CLOCK_H_
