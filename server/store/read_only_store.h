#ifndef NORMLAB_SERVER_STORE_READ_ONLY_STORE_H_
#define NORMLAB_SERVER_STORE_READ_ONLY_STORE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "server/store/sql_value.h"

struct sqlite3;

namespace normlab::server {

struct QueryLimits {
  int64_t max_rows = 100000;
  absl::Duration time = absl::Seconds(30);
};

// A second, read-only connection to the database, for everything that only looks. The table-valued
// functions scalar(), profile() and summary() are registered on it. One connection, one thread at a
// time; open as many as are needed: readers never block the writer.
class ReadOnlyStore {
 public:
  // NotFound: no database there. FailedPrecondition: newer than this program, or not yet migrated
  // to its version (only the server migrates).
  static absl::StatusOr<std::unique_ptr<ReadOnlyStore>> Open(const std::string& path);
  ~ReadOnlyStore();
  ReadOnlyStore(const ReadOnlyStore&) = delete;
  ReadOnlyStore& operator=(const ReadOnlyStore&) = delete;

  // Runs our own SQL with its ?1 … ?n bound. InvalidArgument with SQLite's words for bad SQL.
  absl::StatusOr<SqlRows> Query(std::string_view sql, const SqlRow& parameters = {});

  // Runs SQL that somebody typed: one SELECT (or WITH, VALUES, EXPLAIN); anything that could write,
  // attach a file, load code or change settings is refused by the authorizer. InvalidArgument for
  // bad SQL, PermissionDenied for what is refused, DeadlineExceeded past limits.time; rows beyond
  // limits.max_rows are cut with `truncated` set.
  absl::StatusOr<SqlRows> QueryUntrusted(std::string_view sql, const QueryLimits& limits,
                                         const Clock& clock);

  // Everything read while a Snapshot lives is one state of the database. At most one at a time.
  class Snapshot {
   public:
    explicit Snapshot(ReadOnlyStore& store);
    ~Snapshot();
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    const absl::Status& status() const { return status_; }

   private:
    ReadOnlyStore& store_;
    absl::Status status_;
  };

  // For the readers of this folder only.
  sqlite3* handle() const;

 private:
  struct Parts;
  explicit ReadOnlyStore(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_READ_ONLY_STORE_H_
