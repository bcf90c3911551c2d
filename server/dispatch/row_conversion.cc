#include "server/dispatch/row_conversion.h"

#include <map>
#include <utility>

#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::server {
namespace {

std::optional<absl::Time> WallOrNothing(absl::Time mono, const Moment& moment) {
  if (mono == absl::InfinitePast()) return std::nullopt;
  return moment.ToWall(mono);
}

absl::Time MonotonicOrPast(const std::optional<absl::Time>& wall, const Moment& moment) {
  return wall.has_value() ? moment.ToMonotonic(*wall) : absl::InfinitePast();
}

std::string GpusJson(const std::vector<GpuDevice>& gpus) {
  nlohmann::json list = nlohmann::json::array();
  for (const GpuDevice& gpu : gpus) {
    list.push_back({{"id", gpu.id}, {"name", gpu.name}, {"memory_bytes", gpu.memory_bytes}});
  }
  return DumpStrict(list);
}

absl::StatusOr<std::vector<GpuDevice>> GpusOf(const std::string& text) {
  ASSIGN_OR_RETURN(const nlohmann::json list, ParseJson(text));
  std::vector<GpuDevice> gpus;
  for (const nlohmann::json& each : list) {
    GpuDevice gpu;
    ASSIGN_OR_RETURN(gpu.id, JsonText(each, "id"));
    ASSIGN_OR_RETURN(gpu.name, JsonText(each, "name"));
    ASSIGN_OR_RETURN(gpu.memory_bytes, JsonInt(each, "memory_bytes"));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

absl::StatusOr<Run> RunOf(const SavedRun& saved, const Moment& moment) {
  const RunStateRow& row = saved.state;
  Run run;
  run.id = row.id;
  run.demand = {saved.needs.gpus, saved.needs.cpus, saved.needs.memory_bytes};
  run.budget = {saved.needs.budget_failures, saved.needs.budget_preemptions,
                saved.needs.budget_time_s, saved.needs.budget_stall_s};
  const auto state = ParseRunState(row.state);
  const auto failure = ParseFailureKind(row.failure);
  if (!state.has_value() || !failure.has_value()) {
    return DataLoss(ToString(row.id), " has state '", row.state, "', failure '", row.failure, "'");
  }
  run.state = *state;
  run.failure = *failure;
  run.reason = row.reason;
  if (row.outcome.has_value()) run.outcome = ParseOutcome(*row.outcome);
  run.stopped_by = row.stopped_by;
  run.failures = row.failures;
  run.preemptions = row.preemptions;
  run.idle_losses = row.idle_losses;
  run.used_s = row.used_s;
  run.waiting_until = MonotonicOrPast(row.waiting_until, moment);
  run.avoid = WorkerId(row.avoid_worker);
  run.head = AttemptNumber(static_cast<int>(row.head));
  return run;
}

absl::StatusOr<Attempt> AttemptOf(const SavedAttempt& saved) {
  const AttemptRow& row = saved.row;
  Attempt attempt;
  attempt.number = row.number;
  attempt.token = row.token;
  attempt.worker = WorkerId(row.worker);
  attempt.incarnation = Incarnation(row.incarnation);
  attempt.store_id = row.store_id;
  const auto state = ParseAttemptState(row.state);
  const auto reason = ParseFailureKind(row.reason);
  if (!state.has_value() || !reason.has_value()) {
    return DataLoss("an attempt of ", ToString(row.run), " has state '", row.state, "'");
  }
  attempt.state = *state;
  attempt.reason = *reason;
  attempt.parent = AttemptNumber(static_cast<int>(row.parent));
  attempt.start_step = row.start_step;
  // A live attempt hears its hello again, in case the server stopped between the two commits.
  attempt.said_hello = *state != AttemptState::kRunning && saved.resumed_from_step.has_value();
  attempt.log_complete = saved.exited;
  attempt.last_step = saved.last_step;
  attempt.count_after = row.count_after;
  attempt.count_to = row.count_to;
  return attempt;
}

absl::StatusOr<Worker> WorkerOf(const WorkerRow& row, const Moment& moment) {
  Worker worker;
  worker.id = WorkerId(row.id);
  worker.incarnation = Incarnation(row.incarnation);
  worker.versions = {static_cast<int>(row.protocol),
                     row.build,
                     row.trainer_build,
                     static_cast<int>(row.trainer_math),
                     row.torch,
                     row.isa,
                     row.trainer_error};
  worker.resources.host = row.host;
  worker.resources.slots = static_cast<int>(row.slots);
  worker.resources.cpus = row.cpus;
  worker.resources.memory_bytes = row.memory_bytes;
  ASSIGN_OR_RETURN(worker.resources.gpus, GpusOf(row.gpus));
  worker.store_id = row.store_id;
  worker.connected = row.state == "connected";
  worker.draining = row.draining;
  worker.local = row.local;
  worker.failures_in_a_row = static_cast<int>(row.failures_in_a_row);
  worker.quarantined_until = MonotonicOrPast(row.quarantined_until, moment);
  return worker;
}

absl::Status AddParts(const SavedState& saved, std::map<RunId, Run>& runs) {
  for (const SavedMember& member : saved.members) runs[member.run].sweeps.insert(member.sweep);
  for (const SavedAttempt& each : saved.attempts) {
    ASSIGN_OR_RETURN(Attempt attempt, AttemptOf(each));
    runs[each.row.run].attempts.push_back(std::move(attempt));
  }
  for (const SavedCheckpoint& each : saved.checkpoints) {
    Run& run = runs[each.run];
    run.checkpoints.push_back({each.attempt, each.step, each.dir});
    Attempt* live = run.Live();
    if (live != nullptr && live->parent == each.attempt && live->start_step == each.step) {
      live->resume_dir = each.dir;
    }
  }
  return absl::OkStatus();
}

}  // namespace

RunStateRow StateRowOf(const Run& run, const Moment& moment) {
  RunStateRow row;
  row.id = run.id;
  row.state = std::string(ToString(run.state));
  row.reason = run.reason;
  row.failure = std::string(ToString(run.failure));
  if (run.outcome.has_value()) row.outcome = std::string(ToString(*run.outcome));
  row.stopped_by = run.stopped_by;
  row.failures = run.failures;
  row.preemptions = run.preemptions;
  row.idle_losses = run.idle_losses;
  row.used_s = run.used_s;
  row.waiting_until = WallOrNothing(run.waiting_until, moment);
  row.avoid_worker = run.avoid.value();
  row.attempts = static_cast<int64_t>(run.attempts.size());
  row.head = run.head.value();
  return row;
}

AttemptRow AttemptRowOf(RunId run, const Attempt& attempt) {
  AttemptRow row;
  row.run = run;
  row.number = attempt.number;
  row.token = attempt.token;
  row.worker = attempt.worker.value();
  row.incarnation = attempt.incarnation.value();
  row.store_id = attempt.store_id;
  row.state = std::string(ToString(attempt.state));
  row.reason = std::string(ToString(attempt.reason));
  row.parent = attempt.parent.value();
  row.start_step = attempt.start_step;
  row.count_after = attempt.count_after;
  row.count_to = attempt.count_to;
  return row;
}

WorkerRow WorkerRowOf(const Worker& worker, const Moment& moment) {
  WorkerRow row;
  row.id = worker.id.value();
  row.incarnation = worker.incarnation.value();
  row.state = worker.connected ? "connected" : "lost";
  row.host = worker.resources.host;
  row.local = worker.local;
  row.draining = worker.draining;
  row.slots = worker.resources.slots;
  row.cpus = worker.resources.cpus;
  row.memory_bytes = worker.resources.memory_bytes;
  row.gpus = GpusJson(worker.resources.gpus);
  row.store_id = worker.store_id;
  row.protocol = worker.versions.protocol;
  row.build = worker.versions.build;
  row.trainer_build = worker.versions.trainer_build;
  row.trainer_math = worker.versions.trainer_math;
  row.torch = worker.versions.torch;
  row.isa = worker.versions.isa;
  row.trainer_error = worker.versions.trainer_error;
  row.failures_in_a_row = worker.failures_in_a_row;
  row.quarantined_until = WallOrNothing(worker.quarantined_until, moment);
  return row;
}

absl::StatusOr<SchedulerState> StateOf(const SavedState& saved, const Moment& moment) {
  SchedulerState state;
  for (const SavedSweep& each : saved.sweeps) {
    Sweep sweep;
    sweep.id = each.id;
    sweep.priority = each.priority;
    sweep.max_failures = each.max_failures;
    sweep.cancelled = each.cancelled;
    state.sweeps.push_back(std::move(sweep));
  }
  std::map<RunId, Run> runs;
  for (const SavedRun& each : saved.runs) {
    ASSIGN_OR_RETURN(runs[each.state.id], RunOf(each, moment));
  }
  RETURN_IF_ERROR(AddParts(saved, runs));
  for (auto& [id, run] : runs) state.runs.push_back(std::move(run));
  for (const WorkerRow& each : saved.workers) {
    ASSIGN_OR_RETURN(Worker worker, WorkerOf(each, moment));
    state.workers.push_back(std::move(worker));
  }
  return state;
}

}  // namespace normlab::server
