#ifndef NORMLAB_SERVER_INGEST_LOG_INTAKE_H_
#define NORMLAB_SERVER_INGEST_LOG_INTAKE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/record.h"
#include "server/ingest/ingest.h"
#include "server/ingest/line_tracker.h"
#include "server/store/metric_store.h"

namespace normlab::server {

// One attempt's log as it comes in: takes records in order of their numbers and turns them into
// what the next commit writes and what scheduling hears of. Not thread-safe.
class LogIntake {
 public:
  // NotFound as in MetricStore::FindLog.
  static absl::StatusOr<LogIntake> Open(MetricStore& store, const AppendRequest& request);

  // Takes the records in that come next; repeats are passed over, behind a hole nothing is taken.
  absl::Status Take(uint64_t first_seq, const std::vector<Record>& records);

  // What was taken since the last call; with nothing taken, `update` is not to be written.
  struct Taken {
    bool anything = false;
    LogUpdate update;
    std::vector<AttemptNews> news;
  };
  Taken Flush();

  uint64_t acked_seq() const { return facts_.acked_seq; }
  bool exited() const { return facts_.exited; }

 private:
  LogIntake(MetricStore& store, const AppendRequest& request, const LogState& facts);

  absl::Status EnsureTracker(int64_t resumed_from_step);
  absl::Status TakeOne(const Record& record);
  absl::Status On(const HelloRecord& hello);
  absl::Status On(const ScalarsRecord& scalars);
  absl::Status On(const ProfileRecord& profile);
  absl::Status On(const EventRecord& event);
  absl::Status On(const EvalRecord& eval);
  absl::Status On(const CheckpointRecord& checkpoint);
  absl::Status On(const LogLineRecord& line);
  absl::Status On(const LostRecord& lost);
  absl::Status On(const ExitRecord& exit);
  void AddNews(std::vector<AttemptNews>& news) const;

  MetricStore* store_;
  RunId run_;
  AttemptNumber attempt_;
  LeaseToken token_;
  LogState facts_;
  std::optional<LineTracker> tracker_;  // made when the first record is taken
  LogUpdate update_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_INGEST_LOG_INTAKE_H_
