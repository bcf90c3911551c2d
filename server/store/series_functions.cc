#include "server/store/series_functions.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/strings.h"
#include "server/store/series_reader.h"
#include "server/store/sqlite_api.h"

// Each function is an eponymous virtual table: its arguments are hidden columns that must be equal
// to something. A cursor reads everything when it is opened, so that rows are plain vectors.

namespace normlab::server {
namespace {

// A cell of a result row.
struct Cell {
  bool integer = false;
  int64_t number = 0;
  double real = 0;
};
using Row = std::vector<Cell>;

Cell Integer(int64_t number) { return {true, number, 0}; }
Cell Real(double real) { return {false, 0, real}; }

using ReadRows = absl::StatusOr<std::vector<Row>> (*)(sqlite3* db, const SeriesQuery& query);

struct Function {
  const char* name;
  const char* declaration;
  int columns;  // visible ones; run and key follow
  ReadRows read;
};

absl::StatusOr<std::vector<Row>> ScalarRows(sqlite3* db, const SeriesQuery& query) {
  const auto points = ReadScalarPoints(db, query);
  if (!points.ok()) return points.status();
  std::vector<Row> rows;
  rows.reserve(points->size());
  for (const SeriesPoint& point : *points) {
    rows.push_back({Integer(point.step), Real(point.value), Integer(point.attempt)});
  }
  return rows;
}

absl::StatusOr<std::vector<Row>> ProfileRows(sqlite3* db, const SeriesQuery& query) {
  const auto profiles = ReadProfileVectors(db, query);
  if (!profiles.ok()) return profiles.status();
  std::vector<Row> rows;
  for (const ProfileAt& profile : *profiles) {
    for (size_t i = 0; i < profile.values.size(); ++i) {
      rows.push_back({Integer(profile.step), Integer(profile.first_index + static_cast<int64_t>(i)),
                      Real(profile.values[i])});
    }
  }
  return rows;
}

absl::StatusOr<std::vector<Row>> SummaryRows(sqlite3* db, const SeriesQuery& query) {
  const auto points = ReadScalarPoints(db, query);
  if (!points.ok()) return points.status();
  std::vector<Row> rows;
  if (points->empty()) return rows;
  const ScalarStatistics summary = Summarize(*points);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const bool finite = summary.n > summary.nonfinite;
  rows.push_back({Integer(summary.n), Real(finite ? summary.min : none),
                  Real(finite ? summary.max : none), Real(finite ? summary.mean : none),
                  Integer(summary.nonfinite)});
  return rows;
}

constexpr Function kFunctions[] = {
    {"scalar", "CREATE TABLE x(step INTEGER, value REAL, attempt INTEGER, run HIDDEN, key HIDDEN)",
     3, ScalarRows},
    {"profile", "CREATE TABLE x(step INTEGER, depth INTEGER, value REAL, run HIDDEN, key HIDDEN)",
     3, ProfileRows},
    {"summary",
     "CREATE TABLE x(n INTEGER, min REAL, max REAL, mean REAL, nonfinite INTEGER, run HIDDEN, "
     "key HIDDEN)",
     5, SummaryRows},
};

struct Table : sqlite3_vtab {
  sqlite3* db = nullptr;
  const Function* function = nullptr;
};

struct Cursor : sqlite3_vtab_cursor {
  std::vector<Row> rows;
  size_t next = 0;
  std::string run;
  std::string key;
};

Cursor& CursorOf(sqlite3_vtab_cursor* cursor) { return *static_cast<Cursor*>(cursor); }

int Fail(Table& table, const std::string& message) {
  table.zErrMsg = sqlite3_mprintf("%s(): %s", table.function->name, message.c_str());
  return SQLITE_ERROR;
}

int Connect(sqlite3* db, void* function, int, const char* const*, sqlite3_vtab** out, char**) {
  const auto* described = static_cast<const Function*>(function);
  if (const int code = sqlite3_declare_vtab(db, described->declaration); code != SQLITE_OK) {
    return code;
  }
  auto table = std::make_unique<Table>();
  table->db = db;
  table->function = described;
  *out = table.release();
  return SQLITE_OK;
}

int Disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

// Both arguments must be given; SQLITE_CONSTRAINT makes the planner look for another order of
// joins, in which they are known.
int BestIndex(sqlite3_vtab* table, sqlite3_index_info* info) {
  const int first_hidden = static_cast<Table*>(table)->function->columns;
  bool given[2] = {false, false};
  bool later[2] = {false, false};
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const int argument = constraint.iColumn - first_hidden;
    if (argument < 0 || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (constraint.usable == 0) {
      later[argument] = true;
      continue;
    }
    given[argument] = true;
    info->aConstraintUsage[i].argvIndex = argument + 1;
    info->aConstraintUsage[i].omit = 1;
  }
  if ((!given[0] && later[0]) || (!given[1] && later[1])) return SQLITE_CONSTRAINT;
  if (!given[0] || !given[1]) {
    return Fail(*static_cast<Table*>(table), "wants a run and a key, like ('r37', 'train_loss')");
  }
  info->estimatedCost = 1000;
  info->estimatedRows = 1000;
  return SQLITE_OK;
}

int Open(sqlite3_vtab*, sqlite3_vtab_cursor** out) {
  *out = std::make_unique<Cursor>().release();
  return SQLITE_OK;
}

int Close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

std::string TextOf(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? "" : std::string(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

int Filter(sqlite3_vtab_cursor* base, int, const char*, int, sqlite3_value** arguments) {
  Cursor& cursor = CursorOf(base);
  Table& table = *static_cast<Table*>(base->pVtab);
  cursor.rows.clear();
  cursor.next = 0;
  cursor.run = TextOf(arguments[0]);
  cursor.key = TextOf(arguments[1]);
  if (cursor.run.empty()) return SQLITE_OK;  // of a NULL: nothing
  const auto run = ParseRunId(cursor.run);
  if (!run.ok()) return Fail(table, std::string(run.status().message()));
  SeriesQuery query;
  query.run = run->value();
  query.key = cursor.key;
  auto rows = table.function->read(table.db, query);
  if (absl::IsDeadlineExceeded(rows.status())) return SQLITE_INTERRUPT;
  if (!rows.ok()) return Fail(table, std::string(rows.status().message()));
  cursor.rows = *std::move(rows);
  return SQLITE_OK;
}

int Next(sqlite3_vtab_cursor* cursor) {
  ++CursorOf(cursor).next;
  return SQLITE_OK;
}

int Eof(sqlite3_vtab_cursor* cursor) {
  return CursorOf(cursor).next >= CursorOf(cursor).rows.size() ? 1 : 0;
}

int Column(sqlite3_vtab_cursor* base, sqlite3_context* context, int column) {
  const Cursor& cursor = CursorOf(base);
  const Row& row = cursor.rows[cursor.next];
  if (static_cast<size_t>(column) >= row.size()) {
    const bool is_run = static_cast<size_t>(column) == row.size();
    const std::string& text = is_run ? cursor.run : cursor.key;
    sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  } else if (row[column].integer) {
    sqlite3_result_int64(context, row[column].number);
  } else {
    sqlite3_result_double(context, row[column].real);
  }
  return SQLITE_OK;
}

int Rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* rowid) {
  *rowid = static_cast<sqlite3_int64>(CursorOf(cursor).next);
  return SQLITE_OK;
}

const sqlite3_module& Module() {
  static const sqlite3_module module = [] {
    sqlite3_module made{};
    made.iVersion = 1;
    made.xConnect = Connect;  // no xCreate: the function is there without CREATE VIRTUAL TABLE
    made.xBestIndex = BestIndex;
    made.xDisconnect = Disconnect;
    made.xOpen = Open;
    made.xClose = Close;
    made.xFilter = Filter;
    made.xNext = Next;
    made.xEof = Eof;
    made.xColumn = Column;
    made.xRowid = Rowid;
    return made;
  }();
  return module;
}

}  // namespace

int RegisterSeriesFunctions(sqlite3* db) {
  for (const Function& function : kFunctions) {
    const int code = sqlite3_create_module_v2(db, function.name, &Module(),
                                              const_cast<Function*>(&function), nullptr);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

}  // namespace normlab::server
