#include "server/store/series_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/status.h"
#include "core/strings.h"
#include "server/store/sqlite_api.h"

namespace normlab::server {
namespace {

// Intervals of attempts are disjoint, so that taking each attempt's steps inside its own gives
// every step once.
constexpr char kScalarSql[] = R"(
  SELECT a.number, max(a.count_after + 1, ?3), min(a.count_to, ?4),
         b.codec, b.version, b.first_step, b.n, b.blob
  FROM attempt a JOIN scalar_block b ON b.run = a.run AND b.attempt = a.number
  WHERE a.run = ?1 AND b.key = ?2 AND a.count_after < a.count_to
    AND b.last_step > a.count_after AND b.first_step <= a.count_to
    AND b.last_step >= ?3 AND b.first_step <= ?4
  ORDER BY a.count_after, b.block)";

constexpr char kProfileSql[] = R"(
  SELECT a.number, p.step, p.first_index, p.codec, p.version, p.n, p.blob
  FROM attempt a JOIN profile_row p ON p.run = a.run AND p.attempt = a.number
  WHERE a.run = ?1 AND p.key = ?2 AND p.step > a.count_after AND p.step <= a.count_to
    AND p.step >= ?3 AND p.step <= ?4
  ORDER BY p.step)";

constexpr char kNewestProfileSql[] = R"(
  SELECT a.number, p.step, p.first_index, p.codec, p.version, p.n, p.blob
  FROM attempt a JOIN profile_row p ON p.run = a.run AND p.attempt = a.number
  WHERE a.run = ?1 AND p.key = ?2 AND p.step > a.count_after AND p.step <= a.count_to
    AND p.step >= ?3 AND p.step <= ?4
  ORDER BY p.step DESC LIMIT 1)";

// A prepared statement that ends with its scope.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) {
    sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Calls `row` for each row until it gives an error.
  absl::Status ForEach(const SeriesQuery& query,
                       const std::function<absl::Status(sqlite3_stmt*)>& row) {
    if (statement_ == nullptr) return Error();
    sqlite3_bind_int64(statement_, 1, query.run);
    sqlite3_bind_text(statement_, 2, query.key.data(), static_cast<int>(query.key.size()),
                      SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement_, 3, query.from);
    sqlite3_bind_int64(statement_, 4, query.to);
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement_)) == SQLITE_ROW) RETURN_IF_ERROR(row(statement_));
    return code == SQLITE_DONE ? absl::OkStatus() : Error();
  }

 private:
  absl::Status Error() const {
    if (sqlite3_errcode(db_) == SQLITE_INTERRUPT) {
      return absl::DeadlineExceededError("the query took too long");
    }
    return absl::InternalError(Cat("cannot read a series: ", std::string(sqlite3_errmsg(db_))));
  }
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

std::string_view BlobColumn(sqlite3_stmt* row, int column) {
  return {static_cast<const char*>(sqlite3_column_blob(row, column)),
          static_cast<size_t>(sqlite3_column_bytes(row, column))};
}

}  // namespace

absl::StatusOr<std::vector<SeriesPoint>> ReadScalarPoints(sqlite3* db, const SeriesQuery& query) {
  std::vector<SeriesPoint> points;
  std::vector<ScalarPoint> block;
  const auto add_block = [&](sqlite3_stmt* row) -> absl::Status {
    const int64_t attempt = sqlite3_column_int64(row, 0);
    const int64_t from = sqlite3_column_int64(row, 1);
    const int64_t to = sqlite3_column_int64(row, 2);
    block.clear();
    RETURN_IF_ERROR(DecodeScalars(sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4),
                                  sqlite3_column_int64(row, 5), sqlite3_column_int64(row, 6),
                                  BlobColumn(row, 7), block));
    for (const ScalarPoint& point : block) {
      if (point.step >= from && point.step <= to) {
        points.push_back({point.step, point.value, attempt});
      }
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(Statement(db, kScalarSql).ForEach(query, add_block));
  return points;
}

absl::StatusOr<std::vector<ProfileAt>> ReadProfileVectors(sqlite3* db, const SeriesQuery& query,
                                                          bool newest_only) {
  std::vector<ProfileAt> profiles;
  const auto add_profile = [&](sqlite3_stmt* row) -> absl::Status {
    ProfileAt profile;
    profile.attempt = sqlite3_column_int64(row, 0);
    profile.step = sqlite3_column_int64(row, 1);
    profile.first_index = sqlite3_column_int64(row, 2);
    RETURN_IF_ERROR(DecodeProfile(sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4),
                                  sqlite3_column_int64(row, 5), BlobColumn(row, 6),
                                  profile.values));
    profiles.push_back(std::move(profile));
    return absl::OkStatus();
  };
  const char* sql = newest_only ? kNewestProfileSql : kProfileSql;
  RETURN_IF_ERROR(Statement(db, sql).ForEach(query, add_profile));
  return profiles;
}

ScalarStatistics Summarize(const std::vector<SeriesPoint>& points) {
  ScalarStatistics statistics;
  int64_t finite = 0;
  for (const SeriesPoint& point : points) {
    ++statistics.n;
    if (!std::isfinite(point.value)) {
      ++statistics.nonfinite;
      continue;
    }
    ++finite;
    statistics.min = finite == 1 ? point.value : std::min(statistics.min, point.value);
    statistics.max = finite == 1 ? point.value : std::max(statistics.max, point.value);
    statistics.mean += (point.value - statistics.mean) / static_cast<double>(finite);
  }
  return statistics;
}

}  // namespace normlab::server
