#include "core/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace normlab {

class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }

  absl::Time MonotonicNow() const override {
    return absl::UnixEpoch() +
           absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }

  bool WaitUntil(absl::Time deadline, Mutex& mu, CondVar& cond,
                 absl::FunctionRef<bool()> predicate) override NO_THREAD_SAFETY_ANALYSIS {
    while (!predicate()) {
      if (deadline == absl::InfiniteFuture()) {
        cond.Wait(mu);
        continue;
      }
      if (MonotonicNow() >= deadline) return false;
      const auto since_epoch = absl::ToChronoNanoseconds(deadline - absl::UnixEpoch());
      cond.WaitUntil(mu, std::chrono::steady_clock::time_point(since_epoch));
    }
    return true;
  }
};

Clock& SystemClock() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

}  // namespace normlab
