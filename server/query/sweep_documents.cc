#include "server/query/sweep_documents.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/status.h"
#include "core/version.h"
#include "nlohmann/json.hpp"
#include "server/query/row_view.h"
#include "server/query/run_rows.h"
#include "server/query/sweep_progress.h"
#include "server/store/read_only_store.h"

namespace normlab::server {

using nlohmann::json;

namespace {

constexpr char kMemberProgress[] =
    "SELECT m.sweep, m.dropped_at, m.linked, r.state, r.outcome, r.steps, r.started_at, "
    "r.finished_at, coalesce(y.step, 0) AS step "
    "FROM member m JOIN run r ON r.id = m.run LEFT JOIN run_summary y ON y.run = r.id ";

double SecondsBetween(const std::string& from, const std::string& to, absl::Time now) {
  absl::Time begin;
  absl::Time end = now;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, from, &begin, &error)) return 0;
  if (!to.empty() && !absl::ParseTime(absl::RFC3339_full, to, &end, &error)) return 0;
  return absl::ToDoubleSeconds(end - begin);
}

MemberProgress ProgressOf(const RowView& row, absl::Time now) {
  MemberProgress member;
  const auto state = ParseRunState(row.Text("state"));
  CHECK(state.has_value()) << row.Text("state");
  member.state = *state;
  if (!row.IsNull("outcome")) member.outcome = ParseOutcome(row.Text("outcome"));
  member.dropped = !row.IsNull("dropped_at");
  member.step = row.Int("step");
  member.steps = row.Int("steps");
  if (!row.IsNull("started_at")) {
    member.active_s = SecondsBetween(row.Text("started_at"),
                                     row.IsNull("finished_at") ? "" : row.Text("finished_at"), now);
  }
  return member;
}

struct Tally {
  SweepProgress progress;
  int64_t linked = 0;
};

using Tallies = std::map<int64_t, Tally>;  // by sweep

absl::StatusOr<Tallies> ReadTallies(ReadOnlyStore& store, absl::Time now, std::string_view where,
                                    const SqlRow& bound) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query(std::string(kMemberProgress) + std::string(where), bound));
  Tallies tallies;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    Tally& tally = tallies[row.Int("sweep")];
    tally.progress.Add(ProgressOf(row, now));
    tally.linked += row.Int("linked");
  }
  return tallies;
}

json Counts(const SweepProgress& progress) {
  json counts = json::object();
  for (const RunState state : {RunState::kQueued, RunState::kWaiting, RunState::kRunning,
                               RunState::kDone, RunState::kFailed, RunState::kCancelled}) {
    counts[std::string(ToString(state))] = progress.Count(state);
  }
  return counts;
}

json Outcomes(const SweepProgress& progress) {
  json counts = json::object();
  for (const Outcome outcome : {Outcome::kHealthy, Outcome::kDiverged, Outcome::kCensored}) {
    counts[std::string(ToString(outcome))] = progress.Count(outcome);
  }
  return counts;
}

// The spec holds factors as a list of objects with one key, since their order counts.
json Factors(const json& spec) {
  json factors = json::array();
  for (const json& factor : spec.at("factors")) {
    for (const auto& [key, levels] : factor.items()) {
      factors.push_back({{"key", key}, {"levels", levels}});
    }
  }
  return factors;
}

json Warnings(const json& spec, const std::string& state, const Surroundings& around) {
  json warnings = json::array();
  if (state != "queued" && state != "running") return warnings;
  const json& resources = spec.at("resources");
  const Demand demand = {resources.value("gpus", int64_t{0}), resources.value("cpus", int64_t{1}),
                         resources.value("memory", int64_t{0})};
  const std::string why = DemandWarning(demand, around.workers, kTrainerMath);
  if (!why.empty()) warnings.push_back(why);
  return warnings;
}

constexpr char kSweeps[] =
    "SELECT s.id, s.name, s.submitted_at, s.cancelled_at, s.cancel_reason, s.spec, "
    "(SELECT count(*) FROM cell c WHERE c.sweep = s.id) AS cells, "
    "(SELECT c.label FROM cell c WHERE c.sweep = s.id AND c.baseline ORDER BY c.number LIMIT 1) "
    "AS baseline FROM sweep s ";

json SweepObject(const RowView& row, const Tally& tally, const Surroundings& around) {
  const json spec = row.Parsed("spec");
  const SweepProgress& progress = tally.progress;
  const std::string state = progress.State(!row.IsNull("cancelled_at"));
  const std::optional<double> left =
      state == "running" ? progress.SecondsLeft() : std::optional<double>();
  return {{"id", ToString(SweepId(row.Int("id")))},
          {"name", row.Json("name")},
          {"submitted_at", row.Json("submitted_at")},
          {"cancelled_at", row.Json("cancelled_at")},
          {"cancel_reason", row.JsonOrNull("cancel_reason")},
          {"state", state},
          {"baseline", row.Json("baseline")},
          {"cells", row.Json("cells")},
          {"runs", progress.members()},
          {"linked", tally.linked},
          {"counts", Counts(progress)},
          {"outcomes", Outcomes(progress)},
          {"factors", Factors(spec)},
          {"progress", progress.Done()},
          {"eta_s", left ? json(*left) : json()},
          {"warnings", Warnings(spec, state, around)}};
}

// Cells with the runs of each.
absl::StatusOr<json> CellsDetail(ReadOnlyStore& store, SweepId sweep) {
  ASSIGN_OR_RETURN(const SqlRows cells,
                   store.Query("SELECT number, label, names, factors, baseline FROM cell "
                               "WHERE sweep = ?1 ORDER BY number",
                               {sweep.value()}));
  ASSIGN_OR_RETURN(const SqlRows members,
                   store.Query("SELECT cell, run FROM member WHERE sweep = ?1 ORDER BY cell, seed",
                               {sweep.value()}));
  std::map<int64_t, json> runs;
  for (size_t i = 0; i < members.rows.size(); ++i) {
    const RowView row(members, i);
    runs[row.Int("cell")].push_back(ToString(RunId(row.Int("run"))));
  }
  json detail = json::array();
  for (size_t i = 0; i < cells.rows.size(); ++i) {
    const RowView row(cells, i);
    const CellNumber number(static_cast<int>(row.Int("number")));
    detail.push_back({{"id", ToString(sweep) + "/" + ToString(number)},
                      {"label", row.Json("label")},
                      {"names", row.Parsed("names")},
                      {"factors", row.Parsed("factors")},
                      {"baseline", row.Int("baseline") != 0},
                      {"runs", runs[number.value()]}});
  }
  return detail;
}

}  // namespace

absl::StatusOr<json> SweepsDocument(ReadOnlyStore& store, const Surroundings& around) {
  ASSIGN_OR_RETURN(const SqlRows rows, store.Query(std::string(kSweeps) + "ORDER BY s.id DESC"));
  ASSIGN_OR_RETURN(Tallies tallies, ReadTallies(store, around.now, "", {}));
  json sweeps = json::array();
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    sweeps.push_back(SweepObject(row, tallies[row.Int("id")], around));
  }
  return json{{"schema", "normlab.sweeps.v1"}, {"sweeps", std::move(sweeps)}};
}

absl::StatusOr<json> SweepDocument(ReadOnlyStore& store, SweepId sweep,
                                   const Surroundings& around) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query(std::string(kSweeps) + "WHERE s.id = ?1", {sweep.value()}));
  ASSIGN_OR_RETURN(Tallies tallies,
                   ReadTallies(store, around.now, "WHERE m.sweep = ?1", {sweep.value()}));
  const RowView row(rows, 0);
  json object = SweepObject(row, tallies[sweep.value()], around);
  ASSIGN_OR_RETURN(object["cells_detail"], CellsDetail(store, sweep));
  const json spec = row.Parsed("spec");
  for (const char* part : {"stop", "budget", "resources"}) object[part] = spec.at(part);
  object["spec"] = spec;
  return json{{"schema", "normlab.sweep.v1"}, {"sweep", std::move(object)}};
}

absl::StatusOr<json> SweepRunsDocument(ReadOnlyStore& store, const SweepChoice& choice,
                                       const Surroundings& around) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT spec FROM sweep WHERE id = ?1", {choice.sweep.value()}));
  json keys = json::array();
  for (const json& factor : Factors(RowView(rows, 0).Parsed("spec"))) {
    keys.push_back(factor.at("key"));
  }
  ASSIGN_OR_RETURN(json runs, RunRows(store, choice, around.workers));
  return json{{"schema", "normlab.runs.v1"},
              {"sweep", ToString(choice.sweep)},
              {"factor_keys", std::move(keys)},
              {"runs", std::move(runs)}};
}

absl::StatusOr<json> RunsDocument(ReadOnlyStore& store, const RunSpan& span,
                                  const Surroundings& around) {
  ASSIGN_OR_RETURN(json runs, RunRange(store, span.first, span.last, around.workers));
  std::set<std::string> keys;
  for (const json& run : runs) {
    for (const auto& [key, level] : run.at("factors").items()) keys.insert(key);
  }
  return json{{"schema", "normlab.runs.v1"},
              {"sweep", nullptr},
              {"factor_keys", keys},
              {"runs", std::move(runs)}};
}

}  // namespace normlab::server
