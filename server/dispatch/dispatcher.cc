#include "server/dispatch/dispatcher.h"

#include <algorithm>
#include <utility>

#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/dispatch/dispatcher_impl.h"

namespace normlab::server {

absl::StatusOr<std::unique_ptr<Dispatcher>> Dispatcher::Open(const DispatcherOptions& options,
                                                             RunStore& store, Clock& clock,
                                                             RandomSource& random) {
  auto impl = std::make_unique<Impl>(options, store, clock, random);
  RETURN_IF_ERROR(impl->Load());
  return std::unique_ptr<Dispatcher>(new Dispatcher(std::move(impl)));
}

Dispatcher::Dispatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Dispatcher::~Dispatcher() = default;

void Dispatcher::SetChangeListener(ChangeListener listener) {
  impl_->SetChangeListener(std::move(listener));
}

absl::StatusOr<SyncReply> Dispatcher::Synchronize(const SyncRequest& request,
                                                  const Patience& patience) {
  return impl_->Synchronize(request, patience);
}

void Dispatcher::EndWaits() { impl_->EndWaits(); }

absl::StatusOr<SubmitReply> Dispatcher::Submit(const SubmitRequest& request) {
  return impl_->Submit(request);
}

absl::StatusOr<nlohmann::json> Dispatcher::Cancel(const std::string& selector,
                                                  const std::string& reason) {
  return impl_->Cancel(selector, reason);
}

absl::Status Dispatcher::OnAttemptNews(const std::vector<AttemptNews>& news) {
  return impl_->OnAttemptNews(news);
}

absl::Status Dispatcher::Tick() { return impl_->Tick(); }

absl::Status Dispatcher::Health() const { return impl_->Health(); }

absl::Status Dispatcher::Impl::Load() {
  MutexLock lock(mu_);
  const Moment now = Now();
  ASSIGN_OR_RETURN(const SavedState saved, store_.Load());
  ASSIGN_OR_RETURN(SchedulerState state, StateOf(saved, now));
  for (const Sweep& sweep : state.sweeps) {
    next_sweep_ = std::max(next_sweep_, SweepId(sweep.id.value() + 1));
  }
  for (const Run& run : state.runs) next_run_ = std::max(next_run_, RunId(run.id.value() + 1));
  scheduler_.Restore(std::move(state), now.monotonic);
  return ReplayLogs(saved, now);
}

// The server may have stopped after ingest's commit and before the dispatcher's.
absl::Status Dispatcher::Impl::ReplayLogs(const SavedState& saved, const Moment& now) {
  Changed changed;
  for (const SavedAttempt& attempt : saved.attempts) {
    const AttemptRow& row = attempt.row;
    if (row.state != ToString(AttemptState::kRunning)) continue;
    if (!attempt.resumed_from_step.has_value() && !attempt.exited) continue;
    std::vector<AttemptNews> news;
    const auto add = [&](auto what) { news.push_back({row.run, row.number, row.token, what}); };
    if (attempt.resumed_from_step.has_value()) add(HelloNews{*attempt.resumed_from_step});
    if (attempt.exited) {
      ExitNews exit;
      exit.failure = FailureOf(attempt.exit_code, attempt.signal, attempt.exit_reason);
      exit.setup_failed = IsSetupFailure(attempt.exit_code, attempt.exit_reason);
      exit.stopped_by = attempt.stopped_by;
      exit.wall_s = attempt.wall_s;
      exit.last_step = attempt.last_step;
      if (attempt.outcome.has_value()) exit.outcome = ParseOutcome(*attempt.outcome);
      add(exit);
    }
    for (const AttemptNews& each : news) {
      RETURN_IF_ERROR(Commit(scheduler_.OnNews(each, now.monotonic), now, changed));
    }
  }
  return absl::OkStatus();
}

absl::Status Dispatcher::Impl::OnAttemptNews(const std::vector<AttemptNews>& news) {
  Changed changed;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(HealthLocked());
    const Moment now = Now();
    RunChanges changes;
    changes.now = now.wall;
    for (const AttemptNews& each : news) {
      AddEffects(scheduler_.OnNews(each, now.monotonic), now, changes, changed);
    }
    RETURN_IF_ERROR(CommitChanges(changes));
  }
  Announce(changed);
  return absl::OkStatus();
}

absl::Status Dispatcher::Impl::Tick() {
  Changed changed;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(HealthLocked());
    const Moment now = Now();
    RETURN_IF_ERROR(Commit(scheduler_.OnTime(now.monotonic), now, changed));
  }
  Announce(changed);
  return absl::OkStatus();
}

void Dispatcher::Impl::AddEffects(const Effects& effects, const Moment& now, RunChanges& changes,
                                  Changed& changed) {
  for (const RunId id : effects.runs) {
    const Run& run = *scheduler_.FindRun(id);
    changes.states.push_back(StateRowOf(run, now));
    changed.runs.insert(id);
    changed.sweeps.insert(run.sweeps.begin(), run.sweeps.end());
  }
  for (const auto& [id, number] : effects.attempts) {
    changes.attempts.push_back(AttemptRowOf(id, *scheduler_.FindRun(id)->Find(number)));
  }
  for (const WorkerId& id : effects.workers) {
    changes.workers.push_back(WorkerRowOf(*scheduler_.FindWorker(id), now));
  }
  for (const auto& [id, reason] : effects.cancelled) {
    changes.cancelled.push_back({id, reason});
    changed.sweeps.insert(id);
  }
  for (const Transition& transition : effects.transitions) {
    changes.transitions.push_back({transition.run, std::string(ToString(transition.state)),
                                   transition.reason, transition.attempt.value(),
                                   transition.worker.value()});
  }
}

absl::Status Dispatcher::Impl::Commit(const Effects& effects, const Moment& now, Changed& changed) {
  RunChanges changes;
  changes.now = now.wall;
  AddEffects(effects, now, changes, changed);
  return CommitChanges(changes);
}

absl::Status Dispatcher::Impl::CommitChanges(const RunChanges& changes) {
  if (changes.empty()) return absl::OkStatus();
  const absl::Status status = store_.Commit(changes);
  if (!status.ok()) failure_ = status;
  // Workers that wait look again; what only says that somebody called is no news to them.
  const bool news = !changes.sweeps.empty() || !changes.states.empty() ||
                    !changes.attempts.empty() || !changes.cancelled.empty();
  if (news || !status.ok()) {
    ++news_;
    news_cond_.NotifyAll();
  }
  return status;
}

absl::Status Dispatcher::Impl::HealthLocked() const {
  if (failure_.ok()) return absl::OkStatus();
  return absl::UnavailableError(Cat("the server takes nothing more since a commit failed (",
                                    std::string(failure_.message()), "); restart it"));
}

absl::Status Dispatcher::Impl::Health() const {
  MutexLock lock(mu_);
  return HealthLocked();
}

void Dispatcher::Impl::Announce(const Changed& changed) const {
  if (!listener_ || (changed.sweeps.empty() && changed.runs.empty())) return;
  listener_(changed.sweeps, changed.runs);
}

}  // namespace normlab::server
