#include "cli/poll.h"

#include <algorithm>
#include <csignal>

#include "core/mutex.h"

namespace normlab::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void OnInterrupt(int) { interrupted = 1; }

// A wait is cut into pieces, since a signal handler may not wake a condition variable.
constexpr absl::Duration kPiece = absl::Milliseconds(100);

}  // namespace

void CatchInterrupt() { std::signal(SIGINT, OnInterrupt); }

bool WaitOrInterrupted(Clock& clock, absl::Duration period) {
  const absl::Time end = clock.MonotonicNow() + period;
  Mutex mu;
  CondVar cond;
  MutexLock lock(mu);
  while (interrupted == 0 && clock.MonotonicNow() < end) {
    clock.WaitUntil(std::min(end, clock.MonotonicNow() + kPiece), mu, cond,
                    [] { return interrupted != 0; });
  }
  return interrupted != 0;
}

}  // namespace normlab::cli
