#ifndef NORMLAB_SERVER_STORE_SQLITE_METRIC_STORE_H_
#define NORMLAB_SERVER_STORE_SQLITE_METRIC_STORE_H_

#include <set>
#include <string>
#include <vector>

#include "server/store/metric_store.h"
#include "server/store/write_connection.h"

namespace normlab::server {

// MetricStore over SQLite. `connection` outlives it.
class SqliteMetricStore : public MetricStore {
 public:
  explicit SqliteMetricStore(WriteConnection& connection) : connection_(connection) {}

  absl::StatusOr<std::set<SweepId>> Commit(const std::vector<LogUpdate>& updates,
                                           absl::Time now) override;
  absl::StatusOr<LogState> FindLog(LeaseToken token, RunId run, AttemptNumber attempt) override;
  absl::StatusOr<LineHistory> LoadLine(RunId run, AttemptNumber attempt,
                                       int64_t resumed_from_step) override;

 private:
  // An attempt of a line with the last step that it contributes.
  struct LinePart {
    AttemptNumber attempt;
    int64_t after = 0;
    int64_t to = 0;
  };
  std::vector<LinePart> LineOf(RunId run, AttemptNumber attempt, int64_t resumed_from_step);
  void LoadPart(RunId run, const LinePart& part, LineHistory& history, absl::Status& decoded);

  // Each writes one kind of row, inside a transaction.
  void WriteLog(const LogUpdate& update, const std::string& now);
  void WriteScalars(const LogUpdate& update);
  void WriteScalarBlocks(const LogUpdate& update, const std::string& key,
                         const std::vector<ScalarPoint>& points);
  void WriteProfilesAndEvals(const LogUpdate& update);
  void WriteEvents(const LogUpdate& update);
  void WriteRest(const LogUpdate& update);
  void WriteSummary(const LogUpdate& update);

  WriteConnection& connection_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_SQLITE_METRIC_STORE_H_
