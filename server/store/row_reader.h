#ifndef NORMLAB_SERVER_STORE_ROW_READER_H_
#define NORMLAB_SERVER_STORE_ROW_READER_H_

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <optional>
#include <string>

namespace normlab::server {

// Takes the columns of the current row from left to right.
class RowReader {
 public:
  explicit RowReader(SQLite::Statement& statement) : statement_(statement) {}

  int64_t Int() { return Next().getInt64(); }
  bool Bool() { return Next().getInt64() != 0; }
  double Real() { return Next().getDouble(); }
  // As bytes too: a blob comes back as it is.
  std::string Text() { return Next().getString(); }
  template <typename Id>
  Id As() {
    if constexpr (std::is_same_v<typename Id::ValueType, std::string>) {
      return Id(Text());
    } else {
      return Id(static_cast<typename Id::ValueType>(Int()));
    }
  }
  std::optional<int64_t> MaybeInt() {
    const SQLite::Column column = Next();
    if (column.isNull()) return std::nullopt;
    return column.getInt64();
  }
  std::optional<double> MaybeReal() {
    const SQLite::Column column = Next();
    if (column.isNull()) return std::nullopt;
    return column.getDouble();
  }
  std::optional<std::string> MaybeText() {
    const SQLite::Column column = Next();
    if (column.isNull()) return std::nullopt;
    return column.getString();
  }

 private:
  SQLite::Column Next() { return statement_.getColumn(next_++); }
  SQLite::Statement& statement_;
  int next_ = 0;
};

// Steps through all rows, calling `row` with a reader for each, and lets go of the statement, so
// that no read transaction stays open.
template <typename Row>
void ForEachRow(SQLite::Statement& statement, Row row) {
  while (statement.executeStep()) {
    RowReader reader(statement);
    row(reader);
  }
  statement.reset();
}

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_ROW_READER_H_
