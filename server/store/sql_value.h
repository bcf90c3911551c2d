#ifndef NORMLAB_SERVER_STORE_SQL_VALUE_H_
#define NORMLAB_SERVER_STORE_SQL_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace normlab::server {

struct Blob {
  std::string bytes;
  friend bool operator==(const Blob&, const Blob&) = default;
};

// A value of SQL without a word of SQLite: NULL, INTEGER, REAL, TEXT or BLOB.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, Blob>;
using SqlRow = std::vector<SqlValue>;

struct SqlRows {
  std::vector<std::string> columns;
  std::vector<SqlRow> rows;
  // There were more rows than the caller's limit.
  bool truncated = false;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_SQL_VALUE_H_
