#include "server/store/read_only_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <optional>
#include <utility>

#include "core/check.h"
#include "core/file.h"
#include "core/status.h"
#include "core/strings.h"
#include "server/store/migrations.h"
#include "server/store/series_functions.h"
#include "server/store/sql_status.h"

namespace normlab::server {
namespace {

constexpr int kReaderBusyTimeoutMs = 10'000;
// Virtual machine steps between looks at the clock: well under a millisecond.
constexpr int kStepsBetweenLooks = 10'000;

struct Deadline {
  const Clock& clock;
  absl::Time end;
};

int PastDeadline(void* deadline) {
  const auto& limit = *static_cast<Deadline*>(deadline);
  return limit.clock.MonotonicNow() >= limit.end ? 1 : 0;
}

// The authorizer for SQL that somebody typed: reading and nothing else.
int OnlyReading(void*, int action, const char* argument, const char* function, const char*,
                const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return std::string_view(function) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
      return std::string_view(argument) == "user_version" ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

absl::Status ErrorOf(sqlite3* db, int code) {
  const std::string message = sqlite3_errmsg(db);
  // A function that the authorizer denies is a plain error to SQLite.
  if (message.starts_with("not authorized")) code = SQLITE_AUTH;
  switch (code & 0xff) {
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(Cat("only reading is allowed here: ", message));
    case SQLITE_INTERRUPT:
      return absl::DeadlineExceededError("the query took too long");
    case SQLITE_ERROR:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
      return InvalidArgument(message);
    default:
      return absl::InternalError(message);
  }
}

SqlValue ValueOf(sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(row, column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(row, column);
    case SQLITE_TEXT:
      return std::string(reinterpret_cast<const char*>(sqlite3_column_text(row, column)),
                         static_cast<size_t>(sqlite3_column_bytes(row, column)));
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
      return Blob{std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(row, column)))};
    }
    default:
      return std::monostate();
  }
}

void BindValue(sqlite3_stmt* statement, int index, const SqlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    sqlite3_bind_int64(statement, index, *integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    sqlite3_bind_double(statement, index, *real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    sqlite3_bind_text(statement, index, text->data(), static_cast<int>(text->size()),
                      SQLITE_TRANSIENT);
  } else if (const auto* blob = std::get_if<Blob>(&value)) {
    sqlite3_bind_blob(statement, index, blob->bytes.data(), static_cast<int>(blob->bytes.size()),
                      SQLITE_TRANSIENT);
  }
}

using StatementPtr = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

absl::StatusOr<StatementPtr> Prepare(sqlite3* db, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &statement, &rest);
  StatementPtr owned(statement, sqlite3_finalize);
  if (code != SQLITE_OK) return ErrorOf(db, code);
  if (statement == nullptr) return InvalidArgument("there is no SQL statement");
  const std::string_view after = StripSpace(sql.substr(static_cast<size_t>(rest - sql.data())));
  if (!after.empty() && after != ";") return InvalidArgument("one statement at a time, please");
  return owned;
}

absl::StatusOr<SqlRows> Collect(sqlite3* db, sqlite3_stmt* statement,
                                std::optional<int64_t> max_rows) {
  SqlRows rows;
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) rows.columns.emplace_back(sqlite3_column_name(statement, i));
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (max_rows.has_value() && static_cast<int64_t>(rows.rows.size()) >= *max_rows) {
      rows.truncated = true;
      return rows;
    }
    SqlRow& row = rows.rows.emplace_back();
    for (int i = 0; i < columns; ++i) row.push_back(ValueOf(statement, i));
  }
  if (code != SQLITE_DONE) return ErrorOf(db, code);
  return rows;
}

}  // namespace

struct ReadOnlyStore::Parts {
  std::unique_ptr<SQLite::Database> db;
  bool in_snapshot = false;
};

absl::StatusOr<std::unique_ptr<ReadOnlyStore>> ReadOnlyStore::Open(const std::string& path) {
  if (!FileExists(path)) return NotFound("there is no database ", path);
  auto parts = std::make_unique<Parts>();
  int version = 0;
  RETURN_IF_ERROR(SqlStatus(Cat("cannot open ", path), [&] {
    parts->db =
        std::make_unique<SQLite::Database>(path, SQLite::OPEN_READONLY, kReaderBusyTimeoutMs);
    parts->db->exec("PRAGMA query_only = ON");
    version = parts->db->execAndGet("PRAGMA user_version").getInt();
  }));
  RETURN_IF_ERROR(CheckNotNewer(path, version));
  if (version < SchemaVersion()) {
    return FailedPrecondition(path, " has schema ", version, ", this program wants ",
                              SchemaVersion(), "; start `normlab serve` once, which migrates it");
  }
  sqlite3* handle = parts->db->getHandle();
  if (RegisterSeriesFunctions(handle) != SQLITE_OK) {
    return absl::InternalError(
        Cat("cannot register the series functions: ", std::string(sqlite3_errmsg(handle))));
  }
  return std::unique_ptr<ReadOnlyStore>(new ReadOnlyStore(std::move(parts)));
}

ReadOnlyStore::ReadOnlyStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ReadOnlyStore::~ReadOnlyStore() = default;

sqlite3* ReadOnlyStore::handle() const { return parts_->db->getHandle(); }

absl::StatusOr<SqlRows> ReadOnlyStore::Query(std::string_view sql, const SqlRow& parameters) {
  ASSIGN_OR_RETURN(const StatementPtr statement, Prepare(handle(), sql));
  for (size_t i = 0; i < parameters.size(); ++i) {
    BindValue(statement.get(), static_cast<int>(i) + 1, parameters[i]);
  }
  return Collect(handle(), statement.get(), std::nullopt);
}

absl::StatusOr<SqlRows> ReadOnlyStore::QueryUntrusted(std::string_view sql,
                                                      const QueryLimits& limits,
                                                      const Clock& clock) {
  Deadline deadline{clock, clock.MonotonicNow() + limits.time};
  // Connecting a table-valued function declares its columns, which the authorizer would take for a
  // CREATE TABLE. Done beforehand, it stays connected.
  for (const char* declared : {"SELECT 1 FROM scalar('r1', '')", "SELECT 1 FROM profile('r1', '')",
                               "SELECT 1 FROM summary('r1', '')"}) {
    RETURN_IF_ERROR(Prepare(handle(), declared));
  }
  sqlite3_set_authorizer(handle(), OnlyReading, nullptr);
  sqlite3_progress_handler(handle(), kStepsBetweenLooks, PastDeadline, &deadline);
  const auto run = [&]() -> absl::StatusOr<SqlRows> {
    ASSIGN_OR_RETURN(const StatementPtr statement, Prepare(handle(), sql));
    return Collect(handle(), statement.get(), limits.max_rows);
  };
  absl::StatusOr<SqlRows> rows = run();
  sqlite3_progress_handler(handle(), 0, nullptr, nullptr);
  sqlite3_set_authorizer(handle(), nullptr, nullptr);
  return rows;
}

ReadOnlyStore::Snapshot::Snapshot(ReadOnlyStore& store) : store_(store) {
  CHECK(!store.parts_->in_snapshot) << "one snapshot at a time";
  store.parts_->in_snapshot = true;
  // A deferred transaction begins to see at its first read.
  status_ = SqlStatus("cannot begin a snapshot", [&] {
    store.parts_->db->exec("BEGIN");
    store.parts_->db->execAndGet("SELECT count(*) FROM meta");
  });
}

ReadOnlyStore::Snapshot::~Snapshot() {
  store_.parts_->in_snapshot = false;
  // Nothing was written, so that nothing is lost when this fails.
  (void)SqlStatus("cannot end a snapshot", [this] { store_.parts_->db->exec("COMMIT"); });
}

}  // namespace normlab::server
