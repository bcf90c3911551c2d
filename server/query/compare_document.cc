#include "server/query/compare_document.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/json.h"
#include "core/knob.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
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

// A cell and what `by` makes of it.
struct CellFacts {
  std::string label;
  json names;
  json factors;
  bool baseline = false;
  std::string arm;
  std::string rest;  // the other factors, as part of the pair
};

struct Table {
  std::map<int64_t, CellFacts> cells;
  std::set<std::string> factor_keys;
  std::string by;  // a factor's full key, or "cell"
};

std::string LevelText(const json& factors, const std::string& key) {
  const auto level = factors.find(key);
  if (level == factors.end()) return "does not apply";
  const Knob* knob = FindKnob(key);
  if (level->is_string()) return level->get<std::string>();
  if (knob != nullptr && level->is_number_float()) {
    return FormatValue(*knob, level->get<double>());
  }
  return DumpStrict(*level);
}

// "placement" and "norm.placement" both mean the sweep's factor norm.placement.
absl::StatusOr<std::string> FindBy(const std::set<std::string>& keys, const std::string& by) {
  if (by.empty() || by == "cell") return std::string("cell");
  for (const std::string& key : keys) {
    if (key == by || key.ends_with("." + by)) return key;
  }
  return InvalidArgument("'by' is '", by, "'; this sweep's factors are ", Join(keys, ", "));
}

absl::StatusOr<Table> ReadTable(ReadOnlyStore& store, SweepId sweep, const std::string& by) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT c.number, c.label, c.names, c.factors, c.baseline, s.spec "
                               "FROM cell c JOIN sweep s ON s.id = c.sweep WHERE c.sweep = ?1",
                               {sweep.value()}));
  Table table;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    if (i == 0) {
      const json spec = row.Parsed("spec");
      for (const json& factor : spec.at("factors")) {
        for (const auto& [key, levels] : factor.items()) table.factor_keys.insert(key);
      }
    }
    table.cells[row.Int("number")] = {row.Text("label"),     row.Parsed("names"),
                                      row.Parsed("factors"), row.Int("baseline") != 0,
                                      row.Text("label"),     ""};
  }
  ASSIGN_OR_RETURN(table.by, FindBy(table.factor_keys, by));
  // With one factor, its levels are the cells, whose labels say more ("peri = sandwich").
  if (table.by == "cell" || table.factor_keys.size() == 1) return table;
  for (auto& [number, cell] : table.cells) {
    cell.arm = LevelText(cell.factors, table.by);
    json rest = cell.factors;
    rest.erase(table.by);
    cell.rest = DumpStrict(rest);
  }
  return table;
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

ComparedRun ComparedRunOf(const RowView& row, const CellFacts& cell, const Metric& metric) {
  ComparedRun run;
  run.arm = cell.arm;
  run.pair = Cat(cell.rest, row.Int("seed"));
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
  std::vector<ComparedRun> compared;
  std::map<std::string, json> config_of_arm;  // of the arm's first run
};

absl::StatusOr<Runs> ReadRuns(ReadOnlyStore& store, SweepId sweep, const Table& table,
                              const Metric& metric) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT m.cell, m.seed, r.config AS nested, v.* FROM member m "
                               "JOIN run r ON r.id = m.run JOIN run_v v ON v.run_id = m.run "
                               "WHERE m.sweep = ?1 ORDER BY m.cell, m.seed",
                               {sweep.value()}));
  Runs runs;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    const CellFacts& cell = table.cells.at(row.Int("cell"));
    runs.compared.push_back(ComparedRunOf(row, cell, metric));
    if (!runs.config_of_arm.contains(cell.arm)) {
      runs.config_of_arm[cell.arm] = row.Parsed("nested");
    }
  }
  return runs;
}

// The arm that a label, or one of a cell's names, stands for.
absl::StatusOr<std::string> FindBaseline(const Table& table, const std::string& asked) {
  std::set<std::string> labels;
  for (const auto& [number, cell] : table.cells) {
    if (asked.empty() ? cell.baseline : cell.arm == asked) return cell.arm;
    labels.insert(cell.arm);
  }
  if (asked.empty()) return table.cells.empty() ? "" : table.cells.begin()->second.arm;
  for (const auto& [number, cell] : table.cells) {
    if (std::find(cell.names.begin(), cell.names.end(), json(asked)) != cell.names.end()) {
      return cell.arm;
    }
  }
  return InvalidArgument("'baseline' is '", asked, "'; the arms are ", Join(labels, ", "));
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

// What the arm's cells say of it: its names, its cell when it is just one, the factors they share.
void AddCellFacts(SweepId sweep, const Table& table, json& arm) {
  arm["names"] = json::array();
  arm["cell"] = nullptr;
  int cells = 0;
  for (const auto& [number, cell] : table.cells) {
    if (cell.arm != arm.at("label")) continue;
    ++cells;
    arm["cell"] = cells == 1 ? json(Cat(ToString(sweep), "/c", number)) : json();
    for (const json& name : cell.names) arm["names"].push_back(name);
    if (cells == 1) {
      arm["factors"] = cell.factors;
      continue;
    }
    json& shared = arm["factors"];
    for (auto factor = shared.begin(); factor != shared.end();) {
      const auto other = cell.factors.find(factor.key());
      const bool same = other != cell.factors.end() && *other == *factor;
      factor = same ? std::next(factor) : shared.erase(factor);
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
  ASSIGN_OR_RETURN(const Table table, ReadTable(store, sweep, TextParam(params, "by", "")));
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
                   {"notes", ComparisonNotes(arms)}};
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
