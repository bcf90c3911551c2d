#ifndef NORMLAB_SERVER_STORE_MIGRATIONS_H_
#define NORMLAB_SERVER_STORE_MIGRATIONS_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace SQLite {
class Database;
}

namespace normlab::server {

// Generated from server/store/migrations: migration i leads to `PRAGMA user_version` = i + 1.
struct EmbeddedFile {
  std::string_view path;
  std::string_view bytes;
};
std::span<const EmbeddedFile> EmbeddedFiles();

// The schema version of this program.
int SchemaVersion();

// FailedPrecondition when a database of schema `version` is newer than this program.
absl::Status CheckNotNewer(const std::string& path, int version);

// Brings `db` to SchemaVersion(), each step in its own transaction. A database with data is copied
// to PATH.v<old>.bak first. FailedPrecondition when it is newer than the program.
absl::Status Migrate(const std::string& path, SQLite::Database& db);

// FailedPrecondition when a migrated database lacks a table, view or index that the migrations
// make, or has another one under its name: a build between two releases wrote it, and statements
// would fail one by one later. Objects of its user's own do not matter.
absl::Status CheckSchema(const std::string& path, SQLite::Database& db);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_MIGRATIONS_H_
