#ifndef NORMLAB_SERVER_STORE_RUN_ROWS_H_
#define NORMLAB_SERVER_STORE_RUN_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/ids.h"

namespace normlab::server {

// Rows of the dispatcher's tables as plain values (columns: server/store/migrations). JSON is text.

struct SweepRow {
  SweepId id;
  std::string name;
  std::string client_key;
  std::string spec;
  std::string answer;
  int64_t combinations = 0;
  int64_t excluded = 0;
  int64_t priority = 0;
  int64_t max_failures = 0;
};

struct CellRow {
  SweepId sweep;
  CellNumber number;
  std::string label;
  std::string names;
  std::string factors;
  std::string combinations;
  bool baseline = false;
};

struct DatasetRow {
  std::string sha256;
  std::string name;
  int64_t vocab = 0;
  int64_t train_tokens = 0;
  int64_t val_tokens = 0;
  std::string tokenizer;
  double unigram_entropy = 0;
};

// What a run may use and how often it may fail.
struct RunNeeds {
  int64_t gpus = 0;
  int64_t cpus = 0;
  int64_t memory_bytes = 0;
  int64_t budget_failures = 0;
  int64_t budget_preemptions = 0;
  double budget_time_s = 0;
  double budget_stall_s = 0;
};

// What a run is; written once.
struct RunRow {
  RunId id;
  std::string identity;
  std::string canonical;
  std::string config;
  std::string config_flat;
  std::string factors;
  std::string label;
  std::string observations;
  std::string stop;
  std::string data_name;
  std::string data_sha256;
  int64_t seed = 0;
  int64_t steps = 0;
  int64_t warmup = 0;
  std::string cost_class;
  RunNeeds needs;
};

// Where a run stands. Its started_at and finished_at are the times of the first commit that has it
// running or ended.
struct RunStateRow {
  RunId id;
  std::string state;
  std::string reason;
  std::string failure;
  std::optional<std::string> outcome;
  std::string stopped_by;
  int64_t failures = 0;
  int64_t preemptions = 0;
  int64_t idle_losses = 0;
  double used_s = 0;
  std::optional<absl::Time> waiting_until;
  std::string avoid_worker;
  int64_t attempts = 0;
  int64_t head = 0;
};

struct MemberRow {
  SweepId sweep;
  CellNumber cell;
  int64_t seed = 0;
  RunId run;
  bool linked = false;
  std::string factors;  // of the cell; added to the run's
};

// ended_at is the time of the first commit that does not have it running.
struct AttemptRow {
  RunId run;
  AttemptNumber number;
  LeaseToken token;
  std::string worker;
  std::string incarnation;
  std::string store_id;
  std::string state;
  std::string reason;
  int64_t parent = 0;
  int64_t start_step = 0;
  int64_t count_after = 0;
  int64_t count_to = 0;
};

struct WorkerRow {
  std::string id;
  std::string incarnation;
  std::string state;
  std::string host;
  bool local = false;
  bool draining = false;
  int64_t slots = 0;
  int64_t cpus = 0;
  int64_t memory_bytes = 0;
  std::string gpus;
  std::string store_id;
  int64_t protocol = 0;
  std::string build;
  std::string trainer_build;
  int64_t trainer_math = 0;
  std::string torch;
  std::string isa;
  std::string trainer_error;
  int64_t failures_in_a_row = 0;
  std::optional<absl::Time> quarantined_until;
};

struct TransitionRow {
  RunId run;
  std::string state;
  std::string reason;
  int64_t attempt = 0;
  std::string worker;
};

struct SweepCancellation {
  SweepId sweep;
  std::string reason;
};

// One transaction's worth of changes, in the order in which they are written.
struct RunChanges {
  absl::Time now;  // wall time of the commit
  std::vector<SweepRow> sweeps;
  std::vector<CellRow> cells;
  std::vector<DatasetRow> datasets;
  std::vector<RunRow> runs;  // queued, with reason "submitted"
  std::vector<MemberRow> members;
  std::vector<SweepCancellation> cancelled;
  std::vector<WorkerRow> workers;
  std::vector<AttemptRow> attempts;
  std::vector<RunStateRow> states;
  std::vector<TransitionRow> transitions;

  bool empty() const {
    return sweeps.empty() && runs.empty() && members.empty() && cancelled.empty() &&
           workers.empty() && attempts.empty() && states.empty() && transitions.empty();
  }
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_RUN_ROWS_H_
