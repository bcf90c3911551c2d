#ifndef NORMLAB_SERVER_STORE_RUN_STORE_H_
#define NORMLAB_SERVER_STORE_RUN_STORE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/ids.h"
#include "server/store/run_rows.h"

namespace normlab::server {

// An attempt with what its log said: everything a restarted server needs to go on.
struct SavedAttempt {
  AttemptRow row;
  int64_t last_step = 0;
  std::optional<int64_t> resumed_from_step;  // -1: from scratch; empty: no hello yet
  bool exited = false;                       // an exit record is committed
  int exit_code = 0;
  int signal = 0;
  std::string exit_reason;
  std::string stopped_by;
  double wall_s = 0;
  std::optional<std::string> outcome;
};

struct SavedCheckpoint {
  RunId run;
  AttemptNumber attempt;
  int64_t step = 0;
  std::string dir;
};

struct SavedRun {
  RunStateRow state;
  RunNeeds needs;
};

struct SavedSweep {
  SweepId id;
  int64_t priority = 0;
  int64_t max_failures = 0;
  bool cancelled = false;
};

struct SavedMember {
  SweepId sweep;
  RunId run;
};

// All that the dispatcher's tables hold about scheduling; members without the dropped ones.
struct SavedState {
  std::vector<SavedSweep> sweeps;
  std::vector<SavedRun> runs;
  std::vector<SavedMember> members;
  std::vector<SavedAttempt> attempts;        // by run and number
  std::vector<SavedCheckpoint> checkpoints;  // by run, attempt and step
  std::vector<WorkerRow> workers;
};

// A run that a new member might be linked to.
struct LinkCandidate {
  RunId run;
  std::string state;
  std::string observations;
  std::string stop;
};

// What an attempt's envelope is made of.
struct LaunchFacts {
  std::string config;  // JSON, nested
  std::string stop;    // JSON
  std::string data_name;
  std::string data_sha256;
};

// The dispatcher's tables. Thread-safe; reads see every commit. Errors: Unavailable after a failed
// commit (see Store), else what SQLite says.
class RunStore {
 public:
  virtual ~RunStore() = default;

  // All or nothing, on disk when it returns OK.
  virtual absl::Status Commit(const RunChanges& changes) = 0;

  virtual absl::StatusOr<SavedState> Load() = 0;

  // The sweep and the document that answered this client key before.
  struct Submission {
    SweepId sweep;
    std::string answer;
  };
  virtual absl::StatusOr<std::optional<Submission>> FindSubmission(
      const std::string& client_key) = 0;

  // Runs of this identity, newest first.
  virtual absl::StatusOr<std::vector<LinkCandidate>> FindRuns(const std::string& identity) = 0;

  virtual absl::StatusOr<LaunchFacts> Launch(RunId run) = 0;

  // Seconds per step of finished runs of this cost class; empty when none ran.
  virtual absl::StatusOr<std::optional<double>> SecondsPerStep(const std::string& cost_class) = 0;

  // Id and name of every sweep, by id.
  virtual absl::StatusOr<std::vector<std::pair<SweepId, std::string>>> SweepNames() = 0;

  // Runs of a sweep's cell (of all cells: CellNumber()), of all seeds or one; by cell and seed.
  virtual absl::StatusOr<std::vector<RunId>> MemberRuns(SweepId sweep, CellNumber cell,
                                                        std::optional<int64_t> seed) = 0;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_RUN_STORE_H_
