#include "server/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "core/network_file_system.h"
#include "core/process_lock.h"
#include "core/status.h"
#include "core/strings.h"
#include "server/store/migrations.h"
#include "server/store/sql_status.h"
#include "server/store/sqlite_metric_store.h"
#include "server/store/sqlite_run_store.h"
#include "server/store/write_connection.h"

namespace normlab::server {
namespace {

absl::Status CheckPlace(const StoreOptions& options) {
  if (options.allow_network_file_system) return absl::OkStatus();
  const std::filesystem::path parent = std::filesystem::path(options.path).parent_path();
  const auto network = NetworkFileSystemAt(parent.empty() ? "." : parent.string());
  if (!network.has_value()) return absl::OkStatus();
  return FailedPrecondition(options.path, " is on ", *network,
                            ", where SQLite's locks cannot be relied on; put the data folder on a "
                            "local disk");
}

absl::StatusOr<ProcessLock> TakeLock(const std::string& path) {
  auto lock = ProcessLock::TryTake(path);
  if (!absl::IsAlreadyExists(lock.status())) return lock;
  return FailedPrecondition("another server has this data folder: ", lock.status().message());
}

absl::Status SetUp(SQLite::Database& db) {
  std::string fault;
  RETURN_IF_ERROR(SqlStatus("cannot open the database", [&] {
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    db.exec("PRAGMA foreign_keys = ON");
    db.exec("PRAGMA cache_size = -65536");  // KiB; a big sweep is one transaction
    fault = db.execAndGet("PRAGMA quick_check(1)").getString();
  }));
  if (fault != "ok") return DataLoss("the database is damaged: ", fault);
  return absl::OkStatus();
}

}  // namespace

struct Store::Parts {
  Parts(std::optional<ProcessLock> lock, std::unique_ptr<SQLite::Database> db)
      : lock(std::move(lock)), connection(std::move(db)), runs(connection), metrics(connection) {}
  std::optional<ProcessLock> lock;
  WriteConnection connection;
  SqliteRunStore runs;
  SqliteMetricStore metrics;
};

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const StoreOptions& options) {
  RETURN_IF_ERROR(CheckPlace(options));
  std::optional<ProcessLock> lock;
  if (!options.lock_file.empty()) {
    ASSIGN_OR_RETURN(lock, TakeLock(options.lock_file));
  }
  std::unique_ptr<SQLite::Database> db;
  RETURN_IF_ERROR(SqlStatus(Cat("cannot open ", options.path), [&] {
    db = std::make_unique<SQLite::Database>(
        options.path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
        static_cast<int>(absl::ToInt64Milliseconds(options.busy_timeout)));
  }));
  RETURN_IF_ERROR(AddContext(SetUp(*db), options.path));
  RETURN_IF_ERROR(Migrate(options.path, *db));
  RETURN_IF_ERROR(CheckSchema(options.path, *db));
  return std::unique_ptr<Store>(new Store(std::make_unique<Parts>(std::move(lock), std::move(db))));
}

Store::Store(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Store::~Store() = default;

RunStore& Store::runs() { return parts_->runs; }

MetricStore& Store::metrics() { return parts_->metrics; }

absl::Status Store::Health() const {
  if (parts_->lock.has_value() && !parts_->lock->StillHeld()) {
    return FailedPrecondition("the data folder was removed or replaced while the server ran (",
                              parts_->lock->path(), " is not the file that it locked)");
  }
  return parts_->connection.Health();
}

}  // namespace normlab::server
