#ifndef NORMLAB_SERVER_SCHEDULER_MODEL_H_
#define NORMLAB_SERVER_SCHEDULER_MODEL_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/ids.h"
#include "core/outcome.h"
#include "server/scheduler/resources.h"

namespace normlab::server {

// The scheduler's picture of the world. Times are monotonic.

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct RunBudget {
  int64_t failures = 2;      // that may happen before the run has failed
  int64_t preemptions = -1;  // -1: unlimited
  double time_s = 0;         // of all attempts together; 0: unlimited
  double stall_s = 0;        // without a record; 0: never
};

// A checkpoint that the committed part of an attempt's log registers.
struct Checkpoint {
  AttemptNumber attempt;
  int64_t step = 0;
  std::string dir;
};

enum class AttemptState {
  kRunning,  // holds the run's lease
  kEnded,    // its exit is processed
  kVoid      // lost its lease: changes nothing any more
};
std::string_view ToString(AttemptState state);
std::optional<AttemptState> ParseAttemptState(std::string_view text);

struct Attempt {
  AttemptNumber number;
  LeaseToken token;
  WorkerId worker;
  Incarnation incarnation;
  std::string store_id;  // where its checkpoints lie
  AttemptState state = AttemptState::kRunning;
  FailureKind reason = FailureKind::kNone;
  AttemptNumber parent;       // whose checkpoint it resumes; none: from scratch
  int64_t start_step = 0;     // of that checkpoint
  std::string resume_dir;     // where that checkpoint was registered
  bool said_hello = false;    // parent and start_step are what the trainer did, not what was asked
  bool listed = false;        // the worker has reported it
  bool finished = false;      // the worker says that its log is complete
  bool log_complete = false;  // its exit is committed: the worker may delete the log
  int64_t last_step = 0;      // in the committed part
  // It counts in the run's series over count_after < step <= count_to; nothing when equal.
  int64_t count_after = 0;
  int64_t count_to = 0;
};

struct Run {
  RunId id;
  Demand demand;
  RunBudget budget;
  int64_t priority = 0;      // the highest of its sweeps
  std::set<SweepId> sweeps;  // that ask for it
  RunState state = RunState::kQueued;
  std::string reason = "submitted";          // code of the last transition
  FailureKind failure = FailureKind::kNone;  // of the last failed attempt
  std::optional<Outcome> outcome;
  std::string stopped_by;
  int64_t failures = 0;
  int64_t preemptions = 0;
  int64_t idle_losses = 0;  // attempts lost in a row without a step done
  double used_s = 0;
  absl::Time waiting_until = absl::InfinitePast();
  absl::Time queued_since = absl::InfinitePast();
  WorkerId avoid;                 // it failed there last
  AttemptNumber head;             // its line of parents is the run's series
  std::vector<Attempt> attempts;  // number i is at i - 1
  std::vector<Checkpoint> checkpoints;

  Attempt* Find(AttemptNumber number) {
    const auto index = static_cast<size_t>(number.value()) - 1;
    return index < attempts.size() ? &attempts[index] : nullptr;
  }
  const Attempt* Find(AttemptNumber number) const { return const_cast<Run*>(this)->Find(number); }
  // The attempt that holds the lease, or null.
  Attempt* Live() {
    return !attempts.empty() && attempts.back().state == AttemptState::kRunning ? &attempts.back()
                                                                                : nullptr;
  }
  const Attempt* Live() const { return const_cast<Run*>(this)->Live(); }
};

struct Worker {
  WorkerId id;
  Incarnation incarnation;
  std::set<std::string> superseded;  // earlier incarnations that called this server
  WorkerVersions versions;
  WorkerResources resources;
  std::string store_id;
  bool connected = false;
  bool draining = false;
  bool local = false;
  absl::Time last_seen = absl::InfinitePast();
  int failures_in_a_row = 0;
  absl::Time quarantined_until = absl::InfinitePast();
};

struct Sweep {
  SweepId id;
  int64_t priority = 0;
  int64_t max_failures = 0;  // 0: never cancelled for failures
  bool cancelled = false;
  std::set<RunId> runs;  // that it asks for
  int64_t failed = 0;    // of these
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_MODEL_H_
