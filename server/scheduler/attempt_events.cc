// How attempts begin to count, end and fail: the part of Scheduler that hears from their logs.
#include <algorithm>

#include "core/check.h"
#include "server/scheduler/retry_rule.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/series_line.h"

namespace normlab::server {

Effects Scheduler::OnNews(const AttemptNews& news, absl::Time now) {
  Effects effects = OnTime(now);
  const auto [run, attempt] = FindAttempt(news.token);
  if (attempt == nullptr || run->id != news.run || attempt->number != news.attempt) return effects;
  const bool live = attempt->state == AttemptState::kRunning;
  if (const auto* hello = std::get_if<HelloNews>(&news.what)) {
    if (live) OnHello(*run, *attempt, *hello, effects);
  } else if (const auto* progress = std::get_if<ProgressNews>(&news.what)) {
    attempt->last_step = std::max(attempt->last_step, progress->last_step);
  } else if (const auto* checkpoint = std::get_if<CheckpointNews>(&news.what)) {
    OnCheckpoint(*run, *attempt, *checkpoint);
  } else if (const auto* exit = std::get_if<ExitNews>(&news.what)) {
    attempt->log_complete = true;
    if (live) OnExit(*run, *attempt, *exit, now, effects);
  }
  return effects;
}

void Scheduler::OnHello(Run& run, Attempt& attempt, const HelloNews& hello, Effects& effects) {
  if (attempt.said_hello) return;
  attempt.said_hello = true;
  if (hello.resumed_from_step < 0) {
    attempt.parent = AttemptNumber();
    attempt.start_step = 0;
  } else {
    attempt.start_step = hello.resumed_from_step;
    // Its parent's checkpoints were lost, and an ancestor's served: the steps of the line up to
    // where each attempt begins are those of the attempt before.
    for (const Attempt* parent = run.Find(attempt.parent);
         parent != nullptr && parent->parent && parent->start_step >= attempt.start_step;
         parent = run.Find(attempt.parent)) {
      attempt.parent = parent->parent;
    }
  }
  attempt.last_step = std::max(attempt.last_step, attempt.start_step);
  run.head = attempt.number;
  effects.runs.insert(run.id);
  effects.attempts.emplace(run.id, attempt.number);
  for (const AttemptNumber changed : AssignIntervals(run)) {
    effects.attempts.emplace(run.id, changed);
  }
}

void Scheduler::OnCheckpoint(Run& run, const Attempt& attempt, const CheckpointNews& checkpoint) {
  if (IsFinal(run.state)) return;
  const auto same = [&](const Checkpoint& known) {
    return known.attempt == attempt.number && known.step == checkpoint.step;
  };
  if (std::any_of(run.checkpoints.begin(), run.checkpoints.end(), same)) return;
  run.checkpoints.push_back({attempt.number, checkpoint.step, checkpoint.dir});
}

void Scheduler::OnExit(Run& run, Attempt& attempt, const ExitNews& exit, absl::Time now,
                       Effects& effects) {
  leases_.Release(attempt.token);
  attempt.state = AttemptState::kEnded;
  attempt.reason = exit.failure;
  attempt.last_step = std::max(attempt.last_step, exit.last_step);
  run.used_s += exit.wall_s;
  effects.attempts.emplace(run.id, attempt.number);
  if (exit.failure != FailureKind::kNone) {
    AfterFailure(run, attempt, exit.setup_failed, now, effects);
    return;
  }
  Worker& worker = workers_.at(attempt.worker);
  if (worker.failures_in_a_row > 0) {
    worker.failures_in_a_row = 0;
    worker.quarantined_until = absl::InfinitePast();
    effects.workers.insert(worker.id);
  }
  run.outcome = exit.outcome;
  run.stopped_by = exit.stopped_by;
  run.checkpoints.clear();
  EndRun(run, RunState::kDone, exit.stopped_by.empty() ? "finished" : "stopped", &attempt, effects);
}

void Scheduler::Lose(Run& run, Attempt& attempt, absl::Time now, Effects& effects) {
  leases_.Release(attempt.token);
  attempt.state = AttemptState::kVoid;
  attempt.reason = FailureKind::kLostWorker;
  effects.attempts.emplace(run.id, attempt.number);
  AfterFailure(run, attempt, /*setup_failed=*/false, now, effects);
}

void Scheduler::AfterFailure(Run& run, Attempt& attempt, bool setup_failed, absl::Time now,
                             Effects& effects) {
  AttemptFailure failure;
  failure.kind = attempt.reason;
  failure.setup_failed = setup_failed;
  failure.resumed = static_cast<bool>(attempt.parent);
  failure.progressed = attempt.last_step > attempt.start_step;
  const RetryDecision decision = DecideRetry(failure, run, options_);
  run.failure = attempt.reason;
  run.avoid = decision.avoid_worker ? attempt.worker : WorkerId();
  if (decision.blames_worker) Blame(attempt.worker, now, effects);
  if (!decision.retry) {
    EndRun(run, RunState::kFailed, decision.reason, &attempt, effects);
    return;
  }
  if (failure.resumed && !failure.progressed && attempt.reason != FailureKind::kLostWorker) {
    // The checkpoint may be what is broken: an older one, or none, next time.
    std::erase_if(run.checkpoints, [&attempt](const Checkpoint& checkpoint) {
      return checkpoint.attempt == attempt.parent && checkpoint.step == attempt.start_step;
    });
  }
  if (decision.pause > absl::ZeroDuration()) {
    run.waiting_until = now + decision.pause;
    waiting_.emplace(run.waiting_until, run.id);
    Move(run, RunState::kWaiting, decision.reason, &attempt, effects);
  } else {
    Enqueue(run, now);
    Move(run, RunState::kQueued, decision.reason, &attempt, effects);
  }
}

void Scheduler::Blame(const WorkerId& id, absl::Time now, Effects& effects) {
  Worker& worker = workers_.at(id);
  ++worker.failures_in_a_row;
  const int64_t over = worker.failures_in_a_row - options_.breaker_failures + 1;
  if (over > 0) {
    worker.quarantined_until =
        now + BackOff(options_.first_quarantine, options_.longest_quarantine, over);
  }
  effects.workers.insert(id);
}

}  // namespace normlab::server
