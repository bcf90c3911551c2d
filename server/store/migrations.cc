#include "server/store/migrations.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>

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

void Apply(SQLite::Database& db, size_t migration) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  db.exec(std::string(EmbeddedFiles()[migration].bytes));
  db.exec(Cat("PRAGMA user_version = ", migration + 1));
  transaction.commit();
}

// SQL text of every object by its type and name: "table run" → "CREATE TABLE run …".
std::map<std::string, std::string> ObjectsOf(SQLite::Database& db) {
  std::map<std::string, std::string> objects;
  SQLite::Statement query(
      db, "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL");
  while (query.executeStep()) {
    objects.emplace(query.getColumn(0).getString(), query.getColumn(1).getString());
  }
  return objects;
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
    const size_t migration = static_cast<size_t>(version);
    RETURN_IF_ERROR(SqlStatus(Cat("migration ", EmbeddedFiles()[migration].path),
                              [&] { Apply(db, migration); }));
  }
  return absl::OkStatus();
}

absl::Status CheckSchema(const std::string& path, SQLite::Database& db) {
  std::map<std::string, std::string> wanted;
  std::map<std::string, std::string> found;
  RETURN_IF_ERROR(SqlStatus("cannot compare the schema", [&] {
    SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (size_t i = 0; i < EmbeddedFiles().size(); ++i) Apply(fresh, i);
    wanted = ObjectsOf(fresh);
    found = ObjectsOf(db);
  }));
  for (const auto& [object, sql] : wanted) {
    const auto same = found.find(object);
    if (same != found.end() && same->second == sql) continue;
    return FailedPrecondition(
        path, " says schema ", SchemaVersion(), ", but its ", object,
        same == found.end() ? " is missing" : " is another one",
        ": a normlab between two releases wrote it. Move the file away, or use that normlab");
  }
  return absl::OkStatus();
}

}  // namespace normlab::server
