#ifndef NORMLAB_SERVER_INGEST_LOG_INTAKE_H_
#define NORMLAB_SERVER_INGEST_LOG_INTAKE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/ids.h"
#include "core/record.h"
#include "server/ingest/series_watch.h"
#include "server/scheduler/attempt_news.h"
#include "server/store/metric_store.h"

namespace normlab::server {

// One attempt's log on its way into the store: takes records in order, keeps what the next commit
// will write, and what it will tell the scheduler. Not thread-safe.
class LogIntake {
 public:
  // NotFound: the token was never issued for this run and attempt.
  static absl::StatusOr<std::unique_ptr<LogIntake>> Open(MetricStore& store, LeaseToken token,
                                                         RunId run, AttemptNumber attempt);

  // Takes records in whose first has number `first_seq`. Those that are known already are passed
  // over; behind a gap nothing is taken, and acked_seq() tells the sender where to go on.
  // An error of the store (rebuilding the detectors) leaves the intake unusable.
  absl::Status Take(uint64_t first_seq, std::vector<Record> records);

  // Up to here records are taken; committed once Harvest()'s update is.
  uint64_t acked_seq() const { return log_.acked_seq; }

  // What came since the last harvest, for one transaction; nothing when nothing came.
  std::optional<LogUpdate> Harvest();
  // The scheduling news of that update, to be told after its commit.
  std::vector<AttemptNews> TakeNews();

 private:
  LogIntake(MetricStore& store, LeaseToken token, RunId run, AttemptNumber attempt,
            const LogState& log);

  absl::Status TakeOne(uint64_t seq, Record record);
  // Feeds the watch with the line of parents, when the hello has said where this attempt begins.
  absl::Status Rebuild(int64_t resumed_from_step);
  absl::Status OnHello(HelloRecord record);
  void OnScalars(const ScalarsRecord& record);
  void OnEvent(const EventRecord& record);
  void OnExit(uint64_t seq, ExitRecord record);
  void Tell(decltype(AttemptNews::what) what);

  MetricStore& store_;
  const LeaseToken token_;
  const RunId run_;
  const AttemptNumber attempt_;
  LogState log_;
  SeriesWatch watch_;
  LogUpdate update_;
  bool changed_ = false;
  std::vector<AttemptNews> news_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_INGEST_LOG_INTAKE_H_
