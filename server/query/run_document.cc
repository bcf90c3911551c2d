#include "server/query/run_document.h"

#include <utility>

#include "core/status.h"
#include "nlohmann/json.hpp"
#include "server/query/row_view.h"
#include "server/query/run_rows.h"
#include "server/store/read_only_store.h"
#include "server/store/reader.h"

namespace normlab::server {

using nlohmann::json;

namespace {

json AttemptObject(const RowView& row) {
  json attempt = {
      {"number", row.Json("attempt")},
      {"last_lines", row.IsNull("last_lines") ? json::array() : row.Parsed("last_lines")},
      {"hello", row.Parsed("hello")},
      {"started_at", row.Json(row.IsNull("started_at") ? "assigned_at" : "started_at")}};
  for (const char* same : {"state", "parent", "start_step", "last_step", "ended_at", "exit_code",
                           "signal", "max_rss_bytes", "wall_s", "cpu_s", "lost_records", "token"}) {
    attempt[same] = row.Json(same);
  }
  for (const char* text : {"worker", "reason", "stopped_by"}) attempt[text] = row.JsonOrNull(text);
  return attempt;
}

absl::StatusOr<json> Attempts(ReadOnlyStore& store, RunId run) {
  ASSIGN_OR_RETURN(
      const SqlRows rows,
      store.Query("SELECT * FROM attempt_v WHERE run_id = ?1 ORDER BY attempt", {run.value()}));
  json attempts = json::array();
  for (size_t i = 0; i < rows.rows.size(); ++i) attempts.push_back(AttemptObject(RowView(rows, i)));
  return attempts;
}

// Every change of the run's state with its reason code, in order.
absl::StatusOr<json> Transitions(ReadOnlyStore& store, RunId run) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT at, state, reason, nullif(attempt, 0) AS attempt, worker "
                               "FROM transition WHERE run = ?1 ORDER BY id",
                               {run.value()}));
  json transitions = json::array();
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    transitions.push_back({{"at", row.Json("at")},
                           {"state", row.Json("state")},
                           {"reason", row.Json("reason")},
                           {"attempt", row.Json("attempt")},
                           {"worker", row.JsonOrNull("worker")}});
  }
  return transitions;
}

absl::StatusOr<json> SweepsOf(ReadOnlyStore& store, RunId run) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT DISTINCT sweep FROM member WHERE run = ?1 ORDER BY sweep",
                               {run.value()}));
  json sweeps = json::array();
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    sweeps.push_back(ToString(SweepId(RowView(rows, i).Int("sweep"))));
  }
  return sweeps;
}

}  // namespace

absl::StatusOr<json> RunDocument(ReadOnlyStore& store, RunId run,
                                 const std::vector<WorkerFacts>& workers) {
  ASSIGN_OR_RETURN(json object, RunRow(store, run, workers));
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT config_flat, stop, data_name, data_sha256 FROM run "
                               "WHERE id = ?1",
                               {run.value()}));
  const RowView row(rows, 0);
  object["config"] = row.Parsed("config_flat");
  object["stop"] = row.Parsed("stop");
  object["dataset"] = {{"name", row.Json("data_name")}, {"sha256", row.Json("data_sha256")}};
  ASSIGN_OR_RETURN(object["sweeps"], SweepsOf(store, run));
  ASSIGN_OR_RETURN(object["attempts"], Attempts(store, run));
  ASSIGN_OR_RETURN(object["transitions"], Transitions(store, run));
  ASSIGN_OR_RETURN(object["scalar_keys"], ScalarKeys(store, run));
  ASSIGN_OR_RETURN(object["profile_keys"], ProfileKeys(store, run));
  return json{{"schema", "normlab.run.v1"}, {"run", std::move(object)}};
}

}  // namespace normlab::server
