#ifndef NORMLAB_CLI_POLL_H_
#define NORMLAB_CLI_POLL_H_

#include "absl/time/time.h"
#include "core/clock.h"

namespace normlab::cli {

// Makes Ctrl-C a wish that verbs see, instead of the end of the process in the middle of a line.
void CatchInterrupt();

// Waits on `clock` for `period`, shorter when Ctrl-C arrives. True when it did.
bool WaitOrInterrupted(Clock& clock, absl::Duration period);

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_POLL_H_
