#ifndef NORMLAB_SERVER_STORE_SQLITE_RUN_STORE_H_
#define NORMLAB_SERVER_STORE_SQLITE_RUN_STORE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/store/run_store.h"
#include "server/store/write_connection.h"

namespace normlab::server {

// RunStore over SQLite. `connection` outlives it.
class SqliteRunStore : public RunStore {
 public:
  explicit SqliteRunStore(WriteConnection& connection) : connection_(connection) {}

  absl::Status Commit(const RunChanges& changes) override;
  absl::StatusOr<SavedState> Load() override;
  absl::StatusOr<std::optional<Submission>> FindSubmission(const std::string& client_key) override;
  absl::StatusOr<std::vector<LinkCandidate>> FindRuns(const std::string& identity) override;
  absl::StatusOr<LaunchFacts> Launch(RunId run) override;
  absl::StatusOr<std::optional<double>> SecondsPerStep(const std::string& cost_class) override;
  absl::StatusOr<std::vector<std::pair<SweepId, std::string>>> SweepNames() override;
  absl::StatusOr<std::vector<RunId>> MemberRuns(SweepId sweep, CellNumber cell,
                                                std::optional<int64_t> seed) override;

 private:
  // Each writes one kind of row, inside a transaction.
  void WriteSweeps(const RunChanges& changes, const std::string& now);
  void WriteRuns(const RunChanges& changes, const std::string& now);
  void WriteMembers(const RunChanges& changes, const std::string& now);
  void WriteWorkers(const RunChanges& changes, const std::string& now);
  void WriteAttempts(const RunChanges& changes, const std::string& now);
  void WriteStates(const RunChanges& changes, const std::string& now);

  // Each loads one table.
  void LoadSweeps(SavedState& state);
  void LoadRuns(SavedState& state);
  void LoadAttempts(SavedState& state);
  void LoadCheckpoints(SavedState& state);
  void LoadWorkers(SavedState& state);

  WriteConnection& connection_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_SQLITE_RUN_STORE_H_
