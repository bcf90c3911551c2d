#ifndef NORMLAB_SERVER_QUERY_ROW_VIEW_H_
#define NORMLAB_SERVER_QUERY_ROW_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nlohmann/json_fwd.hpp"
#include "server/store/sql_value.h"

namespace normlab::server {

// A SQL value as documents carry it: NULL is null, infinities are markers, a BLOB is text in
// hexadecimal.
nlohmann::json ToJson(const SqlValue& value);

// One row of an answer to our own SQL, by column name. A column or a type that is not there is a
// bug of ours. Points into the rows, which outlive it.
class RowView {
 public:
  RowView(const SqlRows& rows, size_t index) : rows_(rows), row_(rows.rows[index]) {}

  bool IsNull(std::string_view column) const;
  int64_t Int(std::string_view column) const;
  double Real(std::string_view column) const;  // an INTEGER too
  std::string Text(std::string_view column) const;
  // Empty for NULL.
  std::optional<int64_t> MaybeInt(std::string_view column) const;
  std::optional<double> MaybeReal(std::string_view column) const;

  // null, number, marker or text.
  nlohmann::json Json(std::string_view column) const;
  // The same, but null for empty text.
  nlohmann::json JsonOrNull(std::string_view column) const;
  // The column's text as the JSON that the writer put there; null for NULL.
  nlohmann::json Parsed(std::string_view column) const;

 private:
  const SqlValue& Value(std::string_view column) const;

  const SqlRows& rows_;
  const SqlRow& row_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_ROW_VIEW_H_
