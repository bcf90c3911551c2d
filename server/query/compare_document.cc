#include "server/query/compare_document.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/query/arm_table.h"
#include "server/query/comparison.h"
#include "server/query/differing_knobs.h"
#include "server/query/row_view.h"
#include "server/query/run_rows.h"
#include "server/store/read_only_store.h"

namespace normlab::server {

using nlohmann::json;

namespace {

// Metrics by name; those of evaluations count only when the last step was evaluated.
struct Metric {
  std::string_view name;
  bool of_evaluation;
};
constexpr Metric kMetrics[] = {
    {"val_loss", true},      {"best_val_loss", false}, {"ppl_of_mean", true},
    {"mean_seq_ppl", true},  {"train_loss", false},    {"grad_norm", false},
    {"tokens_per_s", false}, {"spikes", false},        {"device_seconds", false}};

absl::StatusOr<Metric> FindMetric(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return metric;
    names.push_back(metric.name);
  }
  return InvalidArgument("'metric' is '", name, "'; it may be ", Join(names, ", "));
}

std::optional<double> MeasuredNumber(const RowView& row, const std::string& column) {
  const json number = SummaryNumber(row, column);
  if (number.is_null()) return std::nullopt;
  return FromNumberOrMarker(number).value();
}

// Only a run that reached its last step has a final value.
std::optional<double> FinalValue(const RowView& row, const Metric& metric) {
  if (row.Text("state") != "done" || row.Int("step") < row.Int("steps")) return std::nullopt;
  if (metric.of_evaluation && row.MaybeInt("val_step") != row.Int("steps")) return std::nullopt;
  return MeasuredNumber(row, std::string(metric.name));
}

// As the member of no arm yet.
ComparedRun ComparedRunOf(const RowView& row, const Metric& metric) {
  ComparedRun run;
  run.seed = row.Int("seed");
  const auto state = ParseRunState(row.Text("state"));
  CHECK(state.has_value()) << row.Text("state");
  run.state = *state;
  if (!row.IsNull("outcome")) run.outcome = ParseOutcome(row.Text("outcome"));
  run.value = FinalValue(row, metric);
  run.tokens_per_s = MeasuredNumber(row, "tokens_per_s");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  run.growth = GrowthOf(
      {row.MaybeReal("growth_first").value_or(nan), row.MaybeReal("growth_last").value_or(nan)});
  return run;
}

struct Runs {
  std::vector<ComparedRun> compared;          // one for each arm that a run is in
  std::map<std::string, json> config_of_arm;  // of the arm's first run
  RunCounts counts;
};

absl::StatusOr<Runs> ReadRuns(ReadOnlyStore& store, SweepId sweep, const ArmTable& table,
                              const Metric& metric) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT m.cell, m.seed, r.config AS nested, v.* FROM member m "
                               "JOIN run r ON r.id = m.run JOIN run_v v ON v.run_id = m.run "
                               "WHERE m.sweep = ?1 ORDER BY m.cell, m.seed",
                               {sweep.value()}));
  Runs runs;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    ComparedRun run = ComparedRunOf(row, metric);
    ++runs.counts.planned;
    if (!IsFinal(run.state)) ++runs.counts.open;
    for (const ArmPlace& place : table.cells.at(row.Int("cell")).places) {
      run.arm = place.arm;
      run.rest = place.rest;
      runs.compared.push_back(run);
      if (!runs.config_of_arm.contains(place.arm)) {
        runs.config_of_arm[place.arm] = row.Parsed("nested");
      }
    }
  }
  return runs;
}

json OrNull(const std::optional<double>& value) { return value ? NumberOrMarker(*value) : json(); }

void AddInterval(const std::optional<Interval>& interval, json& object) {
  object["ci_low"] = interval ? NumberOrMarker(interval->low) : json();
  object["ci_high"] = interval ? NumberOrMarker(interval->high) : json();
}

json IntervalObject(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"low", interval->low}, {"high", interval->high}, {"method", "wilson"}};
}

json DifferenceObject(const std::optional<Difference>& difference) {
  if (!difference) return nullptr;
  json object = {{"mean", OrNull(difference->summary.mean)},
                 {"sd", OrNull(difference->summary.sd)},
                 {"n_pairs", difference->summary.n},
                 {"p_signflip", OrNull(difference->p_signflip)}};
  AddInterval(difference->summary.mean_interval, object);
  return object;
}

json GrowthObject(const std::optional<DepthGrowth>& growth) {
  if (!growth) return nullptr;
  return {
      {"first", growth->first}, {"last", growth->last}, {"ratio", NumberOrMarker(growth->ratio)}};
}

json ArmObject(const Arm& arm) {
  json object = {{"label", arm.label},
                 {"n", arm.value.n},
                 {"planned", arm.planned},
                 {"nonfinite", arm.value.nonfinite},
                 {"mean", OrNull(arm.value.mean)},
                 {"sd", OrNull(arm.value.sd)},
                 {"min", OrNull(arm.value.min)},
                 {"max", OrNull(arm.value.max)},
                 {"diff", DifferenceObject(arm.difference)},
                 {"diverged", {{"k", arm.diverged}, {"n", arm.judged}}},
                 {"censored", arm.censored},
                 {"diverged_interval", IntervalObject(arm.diverged_interval)},
                 {"growth", GrowthObject(arm.growth)},
                 {"tokens_per_s", OrNull(arm.tokens_per_s)}};
  AddInterval(arm.value.mean_interval, object);
  return object;
}

// Leaves in `shared` what `other` has as well.
void KeepEqual(const json& other, json& shared) {
  for (auto factor = shared.begin(); factor != shared.end();) {
    const auto found = other.find(factor.key());
    const bool same = found != other.end() && *found == *factor;
    factor = same ? std::next(factor) : shared.erase(factor);
  }
}

// What the arm's cells say of it: its names, its cell when it is just one, the factors they share.
void AddCellFacts(SweepId sweep, const ArmTable& table, json& arm) {
  const std::string label = arm.at("label").get<std::string>();
  arm["levels"] = table.levels.at(label);
  arm["names"] = json::array();
  arm["cell"] = nullptr;
  int cells = 0;
  for (const auto& [number, cell] : table.cells) {
    const bool in_arm = std::any_of(cell.places.begin(), cell.places.end(),
                                    [&label](const ArmPlace& place) { return place.arm == label; });
    if (!in_arm) continue;
    ++cells;
    arm["cell"] = cells == 1 ? json(Cat(ToString(sweep), "/c", number)) : json();
    for (const std::string& name : cell.names) arm["names"].push_back(name);
    json factors = *ParseJson(cell.factors);  // our own
    if (cells == 1) {
      arm["factors"] = std::move(factors);
    } else {
      KeepEqual(factors, arm["factors"]);
    }
  }
}

}  // namespace

absl::StatusOr<json> CompareDocument(ReadOnlyStore& store, SweepId sweep, const Params& params) {
  RETURN_IF_ERROR(CheckParams(params, {"by", "metric", "pair", "baseline"}));
  ASSIGN_OR_RETURN(const Metric metric, FindMetric(TextParam(params, "metric", "val_loss")));
  if (const std::string pair = TextParam(params, "pair", "seed"); pair != "seed") {
    return InvalidArgument("'pair' is '", pair, "'; runs can be paired by seed only");
  }
  ASSIGN_OR_RETURN(const ArmTable table, ReadArmTable(store, sweep, TextParam(params, "by", "")));
  ASSIGN_OR_RETURN(const std::string baseline,
                   FindBaseline(table, TextParam(params, "baseline", "")));
  ASSIGN_OR_RETURN(const Runs runs, ReadRuns(store, sweep, table, metric));
  const std::vector<Arm> arms = CompareArms(runs.compared, baseline);
  json document = {{"schema", "normlab.compare.v1"},
                   {"sweep", ToString(sweep)},
                   {"metric", metric.name},
                   {"by", table.by},
                   {"pair", "seed"},
                   {"baseline", baseline},
                   {"confidence", 0.95},
                   {"arms", json::array()},
                   {"notes", ComparisonNotes(arms, runs.counts)}};
  for (const Arm& arm : arms) {
    json object = ArmObject(arm);
    AddCellFacts(sweep, table, object);
    object["differs_in"] = DifferingKnobs(runs.config_of_arm.at(arm.label),
                                          runs.config_of_arm.at(baseline), table.factor_keys);
    document["arms"].push_back(std::move(object));
  }
  return document;
}

}  // namespace normlab::server
