#include "tests/server/query/query_lab.h"

#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/strings.h"
#include "core/version.h"

namespace normlab::server {

using nlohmann::json;

namespace {

constexpr int64_t kSteps = 4;

LeaseToken TokenOf(RunId run, int attempt) {
  return LeaseToken(static_cast<uint64_t>(run.value() * 100 + attempt));
}

json Spec(const std::string& name, const std::vector<QueryLab::Arm>& arms, int64_t gpus) {
  json levels = json::array();
  for (const QueryLab::Arm& arm : arms) {
    for (const std::string& level : arm.names.empty() ? std::vector{arm.label} : arm.names) {
      levels.push_back(level);
    }
  }
  return {{"name", name},
          {"factors", json::array({json{{"norm.placement", levels}}})},
          {"stop", {{"nonfinite", true}}},
          {"budget", {{"failures", 2}}},
          {"resources", {{"gpus", gpus}, {"cpus", 1}, {"memory", 0}}}};
}

json Combinations(const std::vector<std::string>& names) {
  json combinations = json::array();
  for (const std::string& name : names) combinations.push_back({{"norm.placement", name}});
  return combinations;
}

RunRow RunOf(RunId id, const QueryLab::Arm& arm, int64_t seed, int64_t gpus) {
  RunRow run;
  run.id = id;
  run.identity = Cat("00000000000000", id.value() + 10);
  run.canonical = "{}";
  json config = arm.config.is_null() ? json::object() : arm.config;
  const std::string placement = arm.names.empty() ? arm.label : arm.names[0];
  config["norm"]["placement"] = placement;
  run.config = config.dump();
  run.config_flat = json{{"norm.placement", placement}}.dump();
  run.factors = run.config_flat;
  run.label = arm.label;
  run.observations = run.stop = "{}";
  run.data_name = "tiny";
  run.data_sha256 = "d";
  run.seed = seed;
  run.steps = kSteps;
  run.cost_class = "c";
  run.needs.gpus = gpus;
  run.needs.cpus = 1;
  run.needs.budget_failures = 2;
  run.needs.budget_preemptions = -1;
  return run;
}

}  // namespace

QueryLab::QueryLab() {
  auto store = Store::Open({database(), ""});
  CHECK_OK(store.status());
  store_ = *std::move(store);
  auto query = QueryApi::Open(database(), clock_, {"the-instance", folder_.path(), "2026"});
  CHECK_OK(query.status());
  query_ = *std::move(query);
}

void QueryLab::Commit(RunChanges changes) {
  changes.now = clock_.Now();
  CHECK_OK(store_->runs().Commit(changes));
}

SweepId QueryLab::AddSweep(const std::string& name, const std::vector<Arm>& arms, int seeds,
                           int64_t gpus) {
  const SweepId sweep(++sweeps_);
  RunChanges changes;
  specs_[sweep.value()] = Spec(name, arms, gpus).dump();
  changes.sweeps.push_back({sweep, name, Cat("key", sweeps_), specs_[sweep.value()], "{}"});
  changes.datasets.push_back({"d", "tiny", 256, 1000, 100, "bytes", 3.0});
  for (size_t i = 0; i < arms.size(); ++i) {
    const CellNumber cell(static_cast<int>(i) + 1);
    const std::vector<std::string> names =
        arms[i].names.empty() ? std::vector{arms[i].label} : arms[i].names;
    const std::string factors = json{{"norm.placement", names[0]}}.dump();
    changes.cells.push_back({sweep, cell, arms[i].label, json(names).dump(), factors,
                             Combinations(names).dump(), i == 0});
    for (int seed = 1; seed <= seeds; ++seed) {
      const RunId run(static_cast<int64_t>(runs_.size()));
      runs_.emplace_back();
      changes.runs.push_back(RunOf(run, arms[i], seed, gpus));
      changes.members.push_back({sweep, cell, seed, run, false, factors});
    }
  }
  members_[sweep.value()] = changes.members;
  cells_[sweep.value()] = changes.cells;
  Commit(std::move(changes));
  return sweep;
}

SweepId QueryLab::AddLinkedSweep(const std::string& name, SweepId other) {
  const SweepId sweep(++sweeps_);
  RunChanges changes;
  changes.sweeps.push_back({sweep, name, Cat("key", sweeps_), specs_[other.value()], "{}"});
  for (CellRow cell : cells_[other.value()]) {
    cell.sweep = sweep;
    changes.cells.push_back(cell);
  }
  for (MemberRow member : members_[other.value()]) {
    member.sweep = sweep;
    member.linked = true;
    changes.members.push_back(member);
  }
  Commit(std::move(changes));
  return sweep;
}

void QueryLab::Connect(const std::string& id, int gpus) {
  WorkerRow worker;
  worker.id = id;
  worker.incarnation = "i";
  worker.state = "connected";
  worker.host = "host";
  worker.slots = 1;
  worker.cpus = 2;
  worker.memory_bytes = 8'000'000'000;
  json devices = json::array();
  for (int i = 0; i < gpus; ++i) {
    devices.push_back({{"id", std::to_string(i)}, {"name", "GPU"}, {"memory_bytes", 1}});
  }
  worker.gpus = devices.dump();
  worker.store_id = "s";
  worker.protocol = kProtocolVersion;
  worker.build = worker.trainer_build = kVersion;
  worker.trainer_math = kTrainerMath;
  worker.torch = "2.13.0";
  worker.isa = "avx2";
  RunChanges changes;
  changes.workers.push_back(worker);
  Commit(std::move(changes));
}

RunStateRow QueryLab::StateOf(RunId run, const std::string& state) const {
  RunStateRow row;
  row.id = run;
  row.state = state;
  row.reason = state;
  row.attempts = row.head = runs_[static_cast<size_t>(run.value())].attempts;
  return row;
}

void QueryLab::Start(RunId run, const std::string& worker, int64_t start_step) {
  RunFacts& facts = runs_[static_cast<size_t>(run.value())];
  RunChanges changes;
  const auto attempt = [&](int number, const std::string& state, int64_t after, int64_t to) {
    AttemptRow row;
    row.run = run;
    row.number = AttemptNumber(number);
    row.token = TokenOf(run, number);
    row.worker = worker;
    row.incarnation = "i";
    row.store_id = "s";
    row.state = state;
    row.reason = state == "void" ? "lost_worker" : "";
    row.parent = start_step > 0 && number > 1 ? number - 1 : 0;
    row.start_step = after;
    row.count_after = number == 1 ? -1 : after;
    row.count_to = to;
    return row;
  };
  if (facts.attempts > 0) {
    changes.attempts.push_back(attempt(facts.attempts, "void", facts.start_step, start_step));
  }
  ++facts.attempts;
  facts.seq = 0;
  facts.start_step = start_step;
  changes.attempts.push_back(attempt(facts.attempts, "running", start_step, INT64_MAX));
  changes.states.push_back(StateOf(run, "running"));
  changes.transitions.push_back({run, "running", "leased", facts.attempts, worker});
  Commit(std::move(changes));
}

void QueryLab::Measure(RunId run, const Result& result) {
  RunFacts& facts = runs_[static_cast<size_t>(run.value())];
  LogUpdate update;
  update.run = run;
  update.attempt = AttemptNumber(facts.attempts);
  update.acked_seq = facts.seq + 1000;
  for (size_t i = 0; i < result.loss.size(); ++i) {
    const int64_t step = facts.start_step + static_cast<int64_t>(i) + 1;
    update.scalars["train_loss"].push_back({step, result.loss[i]});
    update.last_step = step;
  }
  update.evals = result.evals;
  update.profiles = result.profiles;
  update.events = result.events;
  for (const std::string& line : result.lines) update.lines.push_back({++facts.seq, line});
  update.summary = result.summary;
  update.summary->attempt = facts.attempts;
  if (update.summary->step == 0) update.summary->step = update.last_step;
  const auto committed = store_->metrics().Commit({update}, clock_.Now());
  CHECK_OK(committed.status());
}

void QueryLab::End(RunId run, const std::string& state, const std::string& outcome,
                   const std::string& stopped_by, const std::string& reason) {
  RunChanges changes;
  RunStateRow row = StateOf(run, state);
  if (!outcome.empty()) row.outcome = outcome;
  row.stopped_by = stopped_by;
  row.failure = reason;
  changes.states.push_back(row);
  Commit(std::move(changes));
}

void QueryLab::Finish(RunId run, double val_loss, const std::string& outcome) {
  Start(run);
  Result result;
  result.summary.train_loss = 1;
  result.summary.val_loss = result.summary.best_val_loss = val_loss;
  result.summary.val_step = kSteps;
  result.summary.tokens_per_s = 1000;
  result.summary.growth_first = 1;
  result.summary.growth_last = 4;
  Measure(run, result);
  End(run, "done", outcome);
}

absl::StatusOr<json> QueryLab::Get(const std::string& path, const Params& params) {
  return query_->Get("/api/v1/" + path, params);
}

json QueryLab::Document(const std::string& path, const Params& params) {
  const absl::StatusOr<json> document = Get(path, params);
  CHECK(document.ok()) << path << ": " << document.status().ToString();
  const absl::StatusOr<json> read_back = ParseJson(DumpStrict(*document));
  CHECK(read_back.ok()) << path << ": " << read_back.status().ToString();
  CHECK(*read_back == *document) << path << " is not strict JSON";
  CHECK(document->contains("schema")) << path;
  return *document;
}

}  // namespace normlab::server
