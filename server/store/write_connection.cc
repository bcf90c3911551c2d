#include "server/store/write_connection.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <utility>

#include "core/strings.h"
#include "server/store/sql_status.h"

namespace normlab::server {

WriteConnection::WriteConnection(std::unique_ptr<SQLite::Database> db) : db_(std::move(db)) {}

WriteConnection::~WriteConnection() = default;

absl::Status WriteConnection::Write(std::string_view what, absl::FunctionRef<void()> work) {
  MutexLock lock(mu_);
  if (!failure_.ok()) return HealthLocked();
  const absl::Status status = SqlStatus(what, [&] {
    // The only writer takes the lock at once, so that nothing fails half-way for want of it.
    SQLite::Transaction transaction(*db_, SQLite::TransactionBehavior::IMMEDIATE);
    work();
    transaction.commit();
  });
  if (!status.ok()) failure_ = status;
  return status;
}

absl::Status WriteConnection::Read(std::string_view what, absl::FunctionRef<void()> work) {
  MutexLock lock(mu_);
  if (!failure_.ok()) return HealthLocked();
  return SqlStatus(what, work);
}

absl::Status WriteConnection::Health() const {
  MutexLock lock(mu_);
  return HealthLocked();
}

absl::Status WriteConnection::HealthLocked() const {
  if (failure_.ok()) return absl::OkStatus();
  return absl::UnavailableError(
      Cat("the database takes nothing more since a write failed; restart the server (",
          std::string(failure_.message()), ")"));
}

SQLite::Statement& WriteConnection::Prepared(const char* sql) {
  auto& statement = statements_[sql];
  if (statement == nullptr) statement = std::make_unique<SQLite::Statement>(*db_, sql);
  // Its code is that of the last step, which may have failed; whoever ran that knows already.
  static_cast<void>(statement->tryReset());
  statement->clearBindings();
  return *statement;
}

SQLite::Database& WriteConnection::db() { return *db_; }

}  // namespace normlab::server
