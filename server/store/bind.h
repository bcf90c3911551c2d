#ifndef NORMLAB_SERVER_STORE_BIND_H_
#define NORMLAB_SERVER_STORE_BIND_H_

#include <SQLiteCpp/Statement.h>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "server/store/sql_value.h"

namespace normlab::server {

// Binds values of ours, one after the other from ?1 on. NaN becomes NULL (SQLite's rule), an empty
// optional too.

inline void BindAt(SQLite::Statement& statement, int index, std::integral auto value) {
  statement.bind(index, static_cast<int64_t>(value));
}
inline void BindAt(SQLite::Statement& statement, int index, double value) {
  statement.bind(index, value);
}
inline void BindAt(SQLite::Statement& statement, int index, const std::string& value) {
  statement.bind(index, value);
}
inline void BindAt(SQLite::Statement& statement, int index, const char* value) {
  statement.bind(index, value);
}
inline void BindAt(SQLite::Statement& statement, int index, std::string_view value) {
  statement.bind(index, std::string(value));
}
inline void BindAt(SQLite::Statement& statement, int index, const Blob& value) {
  statement.bind(index, value.bytes.data(), static_cast<int>(value.bytes.size()));
}
template <typename Tag, typename Value>
void BindAt(SQLite::Statement& statement, int index, const StrongId<Tag, Value>& id) {
  BindAt(statement, index, id.value());
}
template <typename T>
void BindAt(SQLite::Statement& statement, int index, const std::optional<T>& value) {
  if (value.has_value()) {
    BindAt(statement, index, *value);
  } else {
    statement.bind(index);
  }
}

template <typename... Args>
SQLite::Statement& Bind(SQLite::Statement& statement, const Args&... args) {
  int index = 0;
  (BindAt(statement, ++index, args), ...);
  return statement;
}

// Binds and runs a statement that gives no rows.
template <typename... Args>
void Exec(SQLite::Statement& statement, const Args&... args) {
  Bind(statement, args...).exec();
  statement.reset();
}

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_BIND_H_
