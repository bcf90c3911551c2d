#ifndef NORMLAB_CORE_CLOCK_H_
#define NORMLAB_CORE_CLOCK_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/mutex.h"

namespace normlab {

// Time and waiting. Everything that needs either takes a Clock, so that tests decide what time it
// is (tests/fakes/fake_clock.h). Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Wall time, UTC: for records and people only; it may jump.
  virtual absl::Time Now() const = 0;

  // Never goes back; its epoch is arbitrary, so that only differences mean anything. For deadlines.
  virtual absl::Time MonotonicNow() const = 0;

  // Blocks until `predicate()` holds or MonotonicNow() >= `deadline`; returns predicate() as last
  // evaluated. The caller holds `mu`, which is released while blocked; whoever makes the predicate
  // true does so under `mu` and notifies `cond`. absl::InfiniteFuture() waits without limit.
  virtual bool WaitUntil(absl::Time deadline, Mutex& mu, CondVar& cond,
                         absl::FunctionRef<bool()> predicate) EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
};

// The machine's clock; lives for ever. The only place that reads system time.
Clock& SystemClock();

// "2026-01-31T12:34:56.789Z": ISO 8601 in UTC with milliseconds, as every document of ours has it.
std::string FormatUtc(absl::Time time);

}  // namespace normlab

#endif  // NORMLAB_CORE_CLOCK_H_
