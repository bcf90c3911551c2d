#include "server/store/migrations.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/file.h"
#include "core/status.h"
#include "core/strings.h"
#include "server/store/sql_status.h"

namespace normlab::server {
namespace {

// A copy that is whole or not there: made beside it, then renamed.
absl::Status CopyBefore(const std::string& path, SQLite::Database& db, int version) {
  const std::string backup = Cat(path, ".v", version, ".bak");
  RETURN_IF_ERROR(RemoveAll(backup + ".tmp"));
  RETURN_IF_ERROR(SqlStatus("cannot copy the database before migrating it", [&] {
    SQLite::Statement copy(db, "VACUUM INTO ?1");
    copy.bind(1, backup + ".tmp");
    copy.exec();
  }));
  return RenameFile(backup + ".tmp", backup);
}

}  // namespace

int SchemaVersion() { return static_cast<int>(EmbeddedFiles().size()); }

absl::Status CheckNotNewer(const std::string& path, int version) {
  if (version <= SchemaVersion()) return absl::OkStatus();
  return FailedPrecondition(path, " was written by a newer normlab (schema ", version,
                            "; this program knows ", SchemaVersion(), ")");
}

absl::Status Migrate(const std::string& path, SQLite::Database& db) {
  int version = 0;
  RETURN_IF_ERROR(SqlStatus("cannot read the schema version",
                            [&] { version = db.execAndGet("PRAGMA user_version").getInt(); }));
  RETURN_IF_ERROR(CheckNotNewer(path, version));
  if (version == SchemaVersion()) return absl::OkStatus();
  if (version > 0) RETURN_IF_ERROR(CopyBefore(path, db, version));
  for (; version < SchemaVersion(); ++version) {
    const EmbeddedFile& file = EmbeddedFiles()[static_cast<size_t>(version)];
    RETURN_IF_ERROR(SqlStatus(Cat("migration ", file.path), [&] {
      SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
      db.exec(std::string(file.bytes));
      db.exec(Cat("PRAGMA user_version = ", version + 1));
      transaction.commit();
    }));
  }
  return absl::OkStatus();
}

}  // namespace normlab::server
