#ifndef NORMLAB_SERVER_SCHEDULER_ATTEMPT_NEWS_H_
#define NORMLAB_SERVER_SCHEDULER_ATTEMPT_NEWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/outcome.h"

namespace normlab::server {

// What the committed part of attempt logs says that scheduling needs to know. Ingest tells it after
// its commit, in the order of each log; telling it twice changes nothing.

struct HelloNews {
  int64_t resumed_from_step = -1;  // -1: from scratch
};

struct CheckpointNews {
  int64_t step = 0;
  std::string dir;
};

struct ProgressNews {
  int64_t last_step = 0;
};

struct ExitNews {
  FailureKind failure = FailureKind::kNone;
  // It could not even be started there (data set, trainer): the worker's fault, not the config's.
  bool setup_failed = false;
  std::string stopped_by;
  double wall_s = 0;
  int64_t last_step = 0;
  std::optional<Outcome> outcome;  // when there was no failure
};

struct AttemptNews {
  RunId run;
  AttemptNumber attempt;
  LeaseToken token;
  std::variant<HelloNews, CheckpointNews, ProgressNews, ExitNews> what;
};

// What an exit record means. `reason` is what the worker says ended it; empty: by itself.
FailureKind FailureOf(int exit_code, int signal, const std::string& reason);
// The worker could not start it there; the trainer itself never refused its config.
bool IsSetupFailure(int exit_code, const std::string& reason);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_ATTEMPT_NEWS_H_
