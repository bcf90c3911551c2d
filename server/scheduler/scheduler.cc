#include "server/scheduler/scheduler.h"

#include <algorithm>

#include "core/check.h"
#include "core/strings.h"
#include "server/scheduler/series_line.h"

namespace normlab::server {

Scheduler::Scheduler(const SchedulerOptions& options, RandomSource& random)
    : options_(options), random_(random) {}

void Scheduler::Restore(SchedulerState state, absl::Time now) {
  CHECK(runs_.empty() && sweeps_.empty() && workers_.empty()) << "restored twice";
  for (Sweep& sweep : state.sweeps) sweeps_.emplace(sweep.id, std::move(sweep));
  for (Worker& worker : state.workers) {
    // One that lives calls within a term, like after any silence.
    worker.last_seen = now;
    workers_.emplace(worker.id, std::move(worker));
  }
  for (Run& run : state.runs) {
    const RunId id = run.id;
    RestoreRun(runs_.emplace(id, std::move(run)).first->second, now);
  }
}

void Scheduler::RestoreRun(Run& run, absl::Time now) {
  for (const SweepId id : run.sweeps) {
    Sweep& sweep = sweeps_.at(id);
    sweep.runs.insert(run.id);
    if (run.state == RunState::kFailed) ++sweep.failed;
  }
  for (const Attempt& attempt : run.attempts) {
    tokens_.emplace(attempt.token, std::make_pair(run.id, attempt.number));
  }
  run.priority = 0;
  Reprioritize(run);
  if (run.state == RunState::kQueued) Enqueue(run, now);
  if (run.state == RunState::kWaiting) waiting_.emplace(run.waiting_until, run.id);
  if (run.state == RunState::kRunning) {
    const Attempt* live = run.Live();
    CHECK(live != nullptr) << ToString(run.id) << " is running without an attempt";
    leases_.Grant({live->token, run.id, live->number, live->worker, now + options_.lease_term});
  }
}

Effects Scheduler::OnSubmitted(NewSweep submitted, absl::Time now) {
  Effects effects;
  CHECK(!sweeps_.contains(submitted.id)) << ToString(submitted.id) << " submitted twice";
  Sweep& sweep = sweeps_[submitted.id];
  sweep.id = submitted.id;
  sweep.priority = submitted.priority;
  sweep.max_failures = submitted.max_failures;
  for (Run& added : submitted.runs) {
    const RunId id = added.id;
    const auto [place, fresh] = runs_.emplace(id, std::move(added));
    CHECK(fresh) << ToString(id) << " exists already";
    Run& run = place->second;
    run.sweeps = {sweep.id};
    run.priority = sweep.priority;
    sweep.runs.insert(id);
    Enqueue(run, now);
    effects.runs.insert(id);
    effects.transitions.push_back({id, run.state, run.reason, {}, {}});
  }
  for (const RunId id : submitted.linked) {
    Run& run = runs_.at(id);
    CHECK(run.state != RunState::kFailed && run.state != RunState::kCancelled)
        << ToString(id) << " cannot be linked any more";
    run.sweeps.insert(sweep.id);
    sweep.runs.insert(id);
    Reprioritize(run);
    effects.runs.insert(id);
  }
  return effects;
}

Effects Scheduler::OnSweepCancelled(SweepId id, const std::string& reason, absl::Time now) {
  Effects effects = OnTime(now);
  const auto found = sweeps_.find(id);
  if (found != sweeps_.end() && !found->second.cancelled) {
    DropSweep(found->second, reason, effects);
  }
  return effects;
}

void Scheduler::DropSweep(Sweep& sweep, const std::string& reason, Effects& effects) {
  sweep.cancelled = true;
  effects.cancelled.emplace(sweep.id, reason);
  const std::set<RunId> runs = std::move(sweep.runs);
  sweep.runs.clear();
  sweep.failed = 0;
  for (const RunId id : runs) {
    Run& run = runs_.at(id);
    run.sweeps.erase(sweep.id);
    effects.runs.insert(id);
    if (IsFinal(run.state)) continue;
    if (run.sweeps.empty()) {
      CancelRun(run, reason.empty() ? "cancelled" : reason, effects);
    } else {
      Reprioritize(run);
    }
  }
}

Effects Scheduler::OnRunCancelled(RunId id, const std::string& reason, absl::Time now) {
  Effects effects = OnTime(now);
  const auto found = runs_.find(id);
  if (found != runs_.end() && !IsFinal(found->second.state)) {
    CancelRun(found->second, reason.empty() ? "cancelled" : reason, effects);
  }
  return effects;
}

void Scheduler::CancelRun(Run& run, const std::string& reason, Effects& effects) {
  Attempt* live = run.Live();
  if (live != nullptr) {
    // Void at once: whatever it still sends changes nothing. Its worker is told at its next call.
    leases_.Release(live->token);
    live->state = AttemptState::kVoid;
    live->reason = FailureKind::kCancelled;
    effects.attempts.emplace(run.id, live->number);
  }
  EndRun(run, RunState::kCancelled, reason, live, effects);
}

Effects Scheduler::OnTime(absl::Time now) {
  Effects effects;
  for (const Lease& lease : leases_.TakeExpired(now)) {
    Run& run = runs_.at(lease.run);
    Lose(run, *run.Find(lease.attempt), now, effects);
  }
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    Run& run = runs_.at(waiting_.begin()->second);
    Move(run, RunState::kQueued, "back_off_over", nullptr, effects);
    Unqueue(run);
    Enqueue(run, now);
  }
  for (auto& [id, worker] : workers_) {
    if (worker.connected && worker.last_seen + options_.lease_term <= now) {
      worker.connected = false;
      effects.workers.insert(id);
    }
  }
  return effects;
}

void Scheduler::Move(Run& run, RunState state, std::string reason, const Attempt* attempt,
                     Effects& effects) {
  run.state = state;
  run.reason = std::move(reason);
  effects.runs.insert(run.id);
  effects.transitions.push_back({run.id, state, run.reason,
                                 attempt != nullptr ? attempt->number : AttemptNumber(),
                                 attempt != nullptr ? attempt->worker : WorkerId()});
}

void Scheduler::Enqueue(Run& run, absl::Time now) {
  run.queued_since = now;
  run.waiting_until = absl::InfinitePast();
  queue_.Add(run.id, run.demand, run.priority);
}

void Scheduler::Unqueue(Run& run) {
  queue_.Remove(run.id);
  waiting_.erase({run.waiting_until, run.id});
}

void Scheduler::Reprioritize(Run& run) {
  int64_t priority = std::numeric_limits<int64_t>::min();
  for (const SweepId sweep : run.sweeps) {
    priority = std::max(priority, sweeps_.at(sweep).priority);
  }
  if (run.sweeps.empty() || priority == run.priority) return;
  run.priority = priority;
  if (queue_.Contains(run.id)) queue_.SetPriority(run.id, priority);
}

void Scheduler::EndRun(Run& run, RunState state, const std::string& reason, const Attempt* attempt,
                       Effects& effects) {
  Unqueue(run);
  run.waiting_until = absl::InfinitePast();
  Move(run, state, reason, attempt, effects);
  if (state != RunState::kFailed) return;
  const std::set<SweepId> sweeps = run.sweeps;  // dropping a sweep changes it
  for (const SweepId id : sweeps) {
    Sweep& sweep = sweeps_.at(id);
    ++sweep.failed;
    if (sweep.max_failures > 0 && sweep.failed > sweep.max_failures) {
      DropSweep(sweep, "max_failures", effects);
    }
  }
}

const Run* Scheduler::FindRun(RunId id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : &found->second;
}

const Sweep* Scheduler::FindSweep(SweepId id) const {
  const auto found = sweeps_.find(id);
  return found == sweeps_.end() ? nullptr : &found->second;
}

const Worker* Scheduler::FindWorker(const WorkerId& id) const {
  const auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

int Scheduler::Busy(const WorkerId& worker) const {
  int busy = 0;
  for (const Lease& lease : leases_.HeldBy(worker)) {
    if (!runs_.at(lease.run).Find(lease.attempt)->finished) ++busy;
  }
  return busy;
}

Scheduler::Ref Scheduler::FindAttempt(LeaseToken token) {
  const auto found = tokens_.find(token);
  if (found == tokens_.end()) return {};
  Run& run = runs_.at(found->second.first);
  return {&run, run.Find(found->second.second)};
}

}  // namespace normlab::server
