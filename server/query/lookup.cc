#include "server/query/lookup.h"

#include <limits>
#include <vector>

#include "core/selector.h"
#include "core/status.h"
#include "core/strings.h"
#include "server/query/row_view.h"
#include "server/store/read_only_store.h"

namespace normlab::server {
namespace {

// The first column of the first row; none when there is no row.
absl::StatusOr<int64_t> OneId(ReadOnlyStore& store, std::string_view sql, const SqlRow& bound) {
  ASSIGN_OR_RETURN(const SqlRows rows, store.Query(sql, bound));
  if (rows.rows.empty()) return int64_t{0};
  return RowView(rows, 0).Int("id");
}

absl::StatusOr<SweepId> FindLast(ReadOnlyStore& store) {
  ASSIGN_OR_RETURN(const int64_t id,
                   OneId(store, "SELECT id FROM sweep ORDER BY id DESC LIMIT 1", {}));
  if (id == 0) return NotFound("no sweep was submitted yet; `normlab submit FILE` submits one");
  return SweepId(id);
}

// Of several sweeps with exactly this name the newest one; otherwise the name must begin that of
// sweeps of one name only.
absl::StatusOr<SweepId> FindByName(ReadOnlyStore& store, const std::string& name) {
  ASSIGN_OR_RETURN(
      const int64_t exact,
      OneId(store, "SELECT id FROM sweep WHERE name = ?1 ORDER BY id DESC LIMIT 1", {name}));
  if (exact != 0) return SweepId(exact);
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT name, max(id) AS id FROM sweep "
                               "WHERE substr(name, 1, length(?1)) = ?1 GROUP BY name ORDER BY name",
                               {name}));
  if (rows.rows.size() == 1) return SweepId(RowView(rows, 0).Int("id"));
  if (rows.rows.empty()) return NotFound("no sweep is named '", name, "'");
  std::vector<std::string> names;
  for (size_t i = 0; i < rows.rows.size(); ++i) names.push_back(RowView(rows, i).Text("name"));
  return InvalidArgument("'", name, "' begins more than one name: ", Join(names, ", "));
}

absl::StatusOr<SweepId> FindById(ReadOnlyStore& store, SweepId sweep) {
  ASSIGN_OR_RETURN(const int64_t id,
                   OneId(store, "SELECT id FROM sweep WHERE id = ?1", {sweep.value()}));
  if (id == 0) return NotFound("there is no sweep ", ToString(sweep));
  return sweep;
}

absl::StatusOr<SweepId> SweepOf(ReadOnlyStore& store, const Selector& selector) {
  if (selector.sweep) return FindById(store, selector.sweep);
  if (selector.kind == Selector::Kind::kLast || selector.name == "last") return FindLast(store);
  return FindByName(store, selector.name);
}

absl::StatusOr<SweepChoice> CellOf(ReadOnlyStore& store, const Selector& selector) {
  ASSIGN_OR_RETURN(const SweepId sweep, SweepOf(store, selector));
  ASSIGN_OR_RETURN(const int64_t cell,
                   OneId(store, "SELECT number AS id FROM cell WHERE sweep = ?1 AND number = ?2",
                         {sweep.value(), int64_t{selector.cell.value()}}));
  if (cell == 0) return NotFound(ToString(sweep), " has no cell ", ToString(selector.cell));
  return SweepChoice{sweep, selector.cell};
}

}  // namespace

absl::StatusOr<SweepChoice> FindSweep(ReadOnlyStore& store, const std::string& text) {
  ASSIGN_OR_RETURN(const Selector selector, ParseSelector(text));
  switch (selector.kind) {
    case Selector::Kind::kLast:
    case Selector::Kind::kSweep:
    case Selector::Kind::kName: {
      ASSIGN_OR_RETURN(const SweepId sweep, SweepOf(store, selector));
      return SweepChoice{sweep, CellNumber()};
    }
    case Selector::Kind::kCell:
      return CellOf(store, selector);
    default:
      return InvalidArgument("'", text, "' names no single sweep; write last, s3 or a name");
  }
}

absl::StatusOr<RunId> FindRun(ReadOnlyStore& store, const std::string& text) {
  ASSIGN_OR_RETURN(const Selector selector, ParseSelector(text));
  if (selector.kind == Selector::Kind::kRun) {
    ASSIGN_OR_RETURN(const int64_t id, OneId(store, "SELECT id FROM run WHERE id = ?1",
                                             {selector.first_run.value()}));
    if (id == 0) return NotFound("there is no run ", ToString(selector.first_run));
    return RunId(id);
  }
  if (selector.kind == Selector::Kind::kLast) {
    ASSIGN_OR_RETURN(
        const int64_t id,
        OneId(store,
              "SELECT id FROM run ORDER BY started_at IS NULL, started_at DESC, id DESC "
              "LIMIT 1",
              {}));
    if (id == 0) return NotFound("there is no run yet");
    return RunId(id);
  }
  if (selector.kind != Selector::Kind::kSeed) {
    return InvalidArgument("'", text, "' names no single run; write r37 or s3/c4/2 (cell, seed)");
  }
  ASSIGN_OR_RETURN(const SweepChoice choice, CellOf(store, selector));
  ASSIGN_OR_RETURN(
      const int64_t id,
      OneId(store, "SELECT run AS id FROM member WHERE sweep = ?1 AND cell = ?2 AND seed = ?3",
            {choice.sweep.value(), int64_t{choice.cell.value()}, selector.seed}));
  if (id == 0) {
    return NotFound(ToString(choice.sweep), "/", ToString(choice.cell), " has no seed ",
                    selector.seed);
  }
  return RunId(id);
}

absl::StatusOr<RunSpan> FindRuns(ReadOnlyStore& store, const std::string& text) {
  ASSIGN_OR_RETURN(const Selector selector, ParseSelector(text));
  if (selector.kind == Selector::Kind::kAll) {
    return RunSpan{RunId(1), RunId(std::numeric_limits<int64_t>::max())};
  }
  if (selector.kind == Selector::Kind::kRunRange) {
    ASSIGN_OR_RETURN(const int64_t any,
                     OneId(store, "SELECT id FROM run WHERE id BETWEEN ?1 AND ?2 LIMIT 1",
                           {selector.first_run.value(), selector.last_run.value()}));
    if (any == 0) return NotFound("there is no run from ", text);
    return RunSpan{selector.first_run, selector.last_run};
  }
  ASSIGN_OR_RETURN(const RunId run, FindRun(store, text));
  return RunSpan{run, run};
}

}  // namespace normlab::server
