#include "server/query/run_rows.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/outcome.h"
#include "core/status.h"
#include "core/version.h"
#include "nlohmann/json.hpp"
#include "server/query/row_view.h"
#include "server/store/read_only_store.h"

namespace normlab::server {

using nlohmann::json;

namespace {

constexpr char kMembers[] =
    "SELECT m.sweep AS sweep_id, m.cell AS cell_number, m.linked, c.label AS cell_label, "
    "c.factors AS cell_factors, c.combinations AS cell_combinations, r.budget_failures, v.* "
    "FROM member m JOIN cell c ON c.sweep = m.sweep AND c.number = m.cell "
    "JOIN run r ON r.id = m.run JOIN run_v v ON v.run_id = m.run ";

RunFacts FactsOf(const RowView& row) {
  RunFacts facts;
  const auto state = ParseRunState(row.Text("state"));
  CHECK(state.has_value()) << row.Text("state");
  facts.state = *state;
  facts.demand = {row.Int("gpus"), row.Int("cpus"), row.Int("memory_bytes")};
  facts.reason = row.Text("reason");
  facts.failure = row.Text("failure");
  facts.stopped_by = row.Text("stopped_by");
  if (!row.IsNull("outcome")) facts.outcome = row.Text("outcome");
  if (!row.IsNull("worker")) facts.worker = row.Text("worker");
  if (!row.IsNull("waiting_until")) facts.waiting_until = row.Text("waiting_until");
  facts.attempts = static_cast<int>(row.Int("attempts"));
  facts.failures = row.Int("failures");
  facts.budget_failures = row.Int("budget_failures");
  return facts;
}

// Growth of hidden_ma over depth; null until there is a profile, and where a ratio means nothing.
json GrowthRatio(const RowView& row) {
  const std::optional<double> first = row.MaybeReal("growth_first");
  const std::optional<double> last = row.MaybeReal("growth_last");
  if (!first || !last || !(*first > 0)) return nullptr;
  return NumberOrMarker(*last / *first);
}

json RunObject(const RowView& row, const std::vector<WorkerFacts>& workers) {
  // The attempt whose line makes the series; until one has said hello, the newest.
  const int64_t head = row.Int("attempt");
  json run = {{"id", row.Json("run")},
              {"cell", ToString(SweepId(row.Int("sweep_id"))) + "/" +
                           ToString(CellNumber(static_cast<int>(row.Int("cell_number"))))},
              {"label", row.Json("cell_label")},
              {"seed", row.Json("seed")},
              {"identity", row.Json("identity")},
              {"state", row.Json("state")},
              {"outcome", row.JsonOrNull("outcome")},
              {"reason", row.JsonOrNull("reason")},
              {"failure", row.JsonOrNull("failure")},
              {"stopped_by", row.JsonOrNull("stopped_by")},
              {"factors", row.Parsed("cell_factors")},
              {"step", row.Json("step")},
              {"steps", row.Json("steps")},
              {"attempt", head != 0 ? head : row.Int("attempts")},
              {"worker", row.JsonOrNull("worker")},
              {"linked", row.Int("linked") != 0},
              {"spikes", row.Json("spikes")},
              {"first_nonfinite_step", row.Json("first_nonfinite_step")},
              {"growth", GrowthRatio(row)},
              {"device_seconds", row.Json("device_seconds")},
              {"explain", ExplainRun(FactsOf(row), workers, kTrainerMath)}};
  // Of a merged cell: what its other names stand for.
  json combinations = row.Parsed("cell_combinations");
  if (combinations.size() > 1) run["combinations"] = std::move(combinations);
  for (const char* time : {"queued_at", "started_at", "finished_at"}) run[time] = row.Json(time);
  for (const char* number : {"train_loss", "val_loss", "best_val_loss", "ppl_of_mean",
                             "mean_seq_ppl", "grad_norm", "tokens_per_s"}) {
    run[number] = SummaryNumber(row, number);
  }
  run["val_step"] = row.Json("val_step");
  return run;
}

absl::StatusOr<json> RunObjects(ReadOnlyStore& store, const std::string& sql, const SqlRow& bound,
                                const std::vector<WorkerFacts>& workers) {
  ASSIGN_OR_RETURN(const SqlRows rows, store.Query(sql, bound));
  json runs = json::array();
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    runs.push_back(RunObject(RowView(rows, i), workers));
  }
  return runs;
}

}  // namespace

json SummaryNumber(const RowView& row, const std::string& column) {
  if (!row.IsNull(column)) return row.Json(column);
  const json nan_columns = row.Parsed("nan_columns");
  if (nan_columns.is_array() &&
      std::find(nan_columns.begin(), nan_columns.end(), json(column)) != nan_columns.end()) {
    return "nan";
  }
  return nullptr;
}

absl::StatusOr<json> RunRows(ReadOnlyStore& store, const SweepChoice& choice,
                             const std::vector<WorkerFacts>& workers) {
  const std::string members(kMembers);
  if (!choice.cell) {
    return RunObjects(store, members + "WHERE m.sweep = ?1 ORDER BY m.cell, m.seed",
                      {choice.sweep.value()}, workers);
  }
  return RunObjects(store, members + "WHERE m.sweep = ?1 AND m.cell = ?2 ORDER BY m.seed",
                    {choice.sweep.value(), int64_t{choice.cell.value()}}, workers);
}

absl::StatusOr<json> RunRange(ReadOnlyStore& store, RunId first, RunId last,
                              const std::vector<WorkerFacts>& workers) {
  return RunObjects(store,
                    std::string(kMembers) +
                        "WHERE m.run BETWEEN ?1 AND ?2 AND m.sweep = (SELECT min(x.sweep) FROM "
                        "member x WHERE x.run = m.run) ORDER BY m.run",
                    {first.value(), last.value()}, workers);
}

absl::StatusOr<json> RunRow(ReadOnlyStore& store, RunId run,
                            const std::vector<WorkerFacts>& workers) {
  ASSIGN_OR_RETURN(
      json runs,
      RunObjects(store, std::string(kMembers) + "WHERE m.run = ?1 ORDER BY m.sweep LIMIT 1",
                 {run.value()}, workers));
  CHECK(!runs.empty()) << "a run without a member: " << run;
  return std::move(runs[0]);
}

}  // namespace normlab::server
