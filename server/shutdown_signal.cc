#include "server/shutdown_signal.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "core/check.h"

namespace normlab::server {
namespace {

sigset_t ShutdownSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

ShutdownSignal::ShutdownSignal() {
  const sigset_t set = ShutdownSet();
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  signal(SIGPIPE, SIG_IGN);
}

bool ShutdownSignal::WaitFor(absl::Duration period) {
  const sigset_t set = ShutdownSet();
  const timespec limit = absl::ToTimespec(period);
  return sigtimedwait(&set, nullptr, &limit) > 0;
}

}  // namespace normlab::server
