#include "server/store/sql_status.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <string>

#include "core/strings.h"

namespace normlab::server {
namespace {

absl::StatusCode CodeOf(int sqlite_code) {
  switch (sqlite_code) {
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status SqlStatus(std::string_view what, absl::FunctionRef<void()> work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const SQLite::Exception& exception) {
    return absl::Status(CodeOf(exception.getErrorCode()),
                        Cat(what, ": ", std::string_view(exception.what())));
  }
}

}  // namespace normlab::server
