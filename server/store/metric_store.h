#ifndef NORMLAB_SERVER_STORE_METRIC_STORE_H_
#define NORMLAB_SERVER_STORE_METRIC_STORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/record.h"
#include "server/store/block_codec.h"
#include "server/store/reader.h"

namespace normlab::server {

// An event as stored; one of the same attempt, step, kind and detector is replaced (a spike is
// written when it begins and again when it is over).
struct EventRow {
  AttemptNumber attempt;  // in whose steps it began
  int64_t step = 0;
  std::string kind;
  std::optional<double> baseline, height, z;
  std::optional<bool> recovered;
  std::string detector;  // empty: the trainer said so
  int64_t version = 0;
  std::string parameters = "{}";
  std::string detail = "{}";
};

struct VerdictRow {
  std::string kind;
  std::string value;
  std::optional<double> estimate;
  std::string method;
  int64_t version = 0;
  std::string parameters = "{}";
};

struct LogLineRow {
  uint64_t seq = 0;
  std::string text;
};

// What one attempt's log brought since the last commit.
struct LogUpdate {
  RunId run;
  AttemptNumber attempt;
  uint64_t acked_seq = 0;  // the new watermark
  int64_t last_step = 0;
  int64_t lost_records = 0;  // added
  std::optional<HelloRecord> hello;
  std::map<std::string, std::vector<ScalarPoint>> scalars;  // in the order of the log
  std::vector<ProfileRecord> profiles;
  std::vector<EvalRecord> evals;
  std::vector<EventRow> events;
  std::vector<CheckpointRecord> checkpoints;
  std::vector<LogLineRow> lines;
  std::vector<VerdictRow> verdicts;
  uint64_t exit_seq = 0;
  std::optional<ExitRecord> exit;
  std::optional<std::string> outcome;  // with `exit`
  // The run's summary as seen from this attempt; written only while the attempt is what the run
  // shows (its head, or running).
  std::optional<RunSummary> summary;
};

// What ingest must know about an attempt before it takes records in.
struct LogState {
  uint64_t acked_seq = 0;
  int64_t last_step = 0;
  std::optional<int64_t> resumed_from_step;  // empty: no hello yet
  bool exited = false;
  AttemptNumber parent;  // as assigned
  // Of the run:
  int64_t steps = 0;
  int64_t warmup = 0;
  int64_t tokens_per_step = 0;
  std::optional<double> unigram_entropy;
};

// Everything along an attempt's line of parents up to what it has itself, to rebuild detectors and
// summary from. Scalars by key in the order of steps.
struct LineHistory {
  std::map<std::string, std::vector<ScalarPoint>> scalars;
  std::vector<EvalRecord> evals;
  std::vector<EventRow> events;                // of detectors
  std::optional<ProfileRecord> newest_growth;  // hidden_ma
};

// Ingest's tables. Thread-safe. Errors as in RunStore.
class MetricStore {
 public:
  virtual ~MetricStore() = default;

  // All updates in one transaction, on disk when it returns OK. Gives the sweeps of the runs.
  virtual absl::StatusOr<std::set<SweepId>> Commit(const std::vector<LogUpdate>& updates,
                                                   absl::Time now) = 0;

  // NotFound when this token was never issued for this run and attempt.
  virtual absl::StatusOr<LogState> FindLog(LeaseToken token, RunId run, AttemptNumber attempt) = 0;

  // `resumed_from_step` as in the attempt's hello: -1 leaves the parents out.
  virtual absl::StatusOr<LineHistory> LoadLine(RunId run, AttemptNumber attempt,
                                               int64_t resumed_from_step) = 0;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_METRIC_STORE_H_
