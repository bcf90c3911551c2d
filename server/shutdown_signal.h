#ifndef NORMLAB_SERVER_SHUTDOWN_SIGNAL_H_
#define NORMLAB_SERVER_SHUTDOWN_SIGNAL_H_

#include "absl/time/time.h"

namespace normlab::server {

// SIGTERM and SIGINT as something to wait for. Made before any thread is started: they are blocked
// in this thread and all that it starts, so that they reach nobody but WaitFor. SIGPIPE is ignored:
// a reader that is gone is an error of that one write. Children get all of it back
// (core/subprocess).
class ShutdownSignal {
 public:
  ShutdownSignal();
  // True when a signal came within `period`; each is told once.
  bool WaitFor(absl::Duration period);
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SHUTDOWN_SIGNAL_H_
