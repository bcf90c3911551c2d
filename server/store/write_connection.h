#ifndef NORMLAB_SERVER_STORE_WRITE_CONNECTION_H_
#define NORMLAB_SERVER_STORE_WRITE_CONNECTION_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "core/mutex.h"

namespace SQLite {
class Database;
class Statement;
}  // namespace SQLite

namespace normlab::server {

// The one connection that writes, behind a lock. Work may throw SQLite::Exception.
class WriteConnection {
 public:
  explicit WriteConnection(std::unique_ptr<SQLite::Database> db);
  ~WriteConnection();
  WriteConnection(const WriteConnection&) = delete;
  WriteConnection& operator=(const WriteConnection&) = delete;

  // Runs `work` in a transaction and commits it. Any failure makes the connection refuse all later
  // work with Unavailable: memory and disk may differ, and pretending would lose data.
  absl::Status Write(std::string_view what, absl::FunctionRef<void()> work);

  // Runs `work`, which only reads. A failure is only this call's.
  absl::Status Read(std::string_view what, absl::FunctionRef<void()> work);

  absl::Status Health() const;

  // Inside `work` only: a prepared statement, kept for the next time, with nothing bound.
  SQLite::Statement& Prepared(const char* sql);
  SQLite::Database& db();

 private:
  absl::Status HealthLocked() const EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  absl::Status failure_ GUARDED_BY(mu_);
  std::unique_ptr<SQLite::Database> db_;
  // By the address of the SQL text, which is a constant of the caller.
  std::map<const char*, std::unique_ptr<SQLite::Statement>> statements_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_WRITE_CONNECTION_H_
