#ifndef NORMLAB_CLI_WATCH_H_
#define NORMLAB_CLI_WATCH_H_

#include <string>

#include "absl/time/time.h"
#include "cli/context.h"
#include "cli/source.h"

namespace normlab::cli {

struct WatchOptions {
  std::string sweep = "last";
  bool fail_on_diverged = false;
  absl::Duration timeout = absl::InfiniteDuration();
  bool show_progress = true;  // false: wait in silence
};

// Follows a sweep to its end: a table redrawn in place on a terminal, a line per change elsewhere.
// Sets the exit code: 0, 1 when runs failed, 124 after `timeout`, 130 on Ctrl-C.
void WatchSweep(Context& context, const Source& source, const WatchOptions& options);

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_WATCH_H_
