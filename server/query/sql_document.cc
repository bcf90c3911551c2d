#include "server/query/sql_document.h"

#include <utility>

#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/query/row_view.h"
#include "server/store/read_only_store.h"

namespace normlab::server {

using nlohmann::json;

absl::StatusOr<json> SqlDocument(ReadOnlyStore& store, const Params& params, const Clock& clock) {
  RETURN_IF_ERROR(CheckParams(params, {"sql"}));
  const std::string sql = TextParam(params, "sql", "");
  if (sql.empty()) return InvalidArgument("'sql' is missing: one SELECT statement");
  ASSIGN_OR_RETURN(const SqlRows answer, store.QueryUntrusted(sql, QueryLimits(), clock));
  json rows = json::array();
  for (const SqlRow& row : answer.rows) {
    json values = json::array();
    for (const SqlValue& value : row) values.push_back(ToJson(value));
    rows.push_back(std::move(values));
  }
  return json{{"schema", "normlab.query.v1"},
              {"columns", answer.columns},
              {"rows", std::move(rows)},
              {"truncated", answer.truncated}};
}

}  // namespace normlab::server
