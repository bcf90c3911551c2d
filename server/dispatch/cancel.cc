// Cancelling: what a selector names ends.
#include <algorithm>

#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/dispatch/dispatcher_impl.h"

namespace normlab::server {
namespace {

std::string Count(size_t n, std::string_view thing) {
  return Cat(n, " ", thing, n == 1 ? "" : "s");
}

bool NamesRuns(Selector::Kind kind) {
  return kind == Selector::Kind::kCell || kind == Selector::Kind::kSeed ||
         kind == Selector::Kind::kRun || kind == Selector::Kind::kRunRange;
}

}  // namespace

absl::StatusOr<nlohmann::json> Dispatcher::Impl::Cancel(const std::string& selector,
                                                        const std::string& reason) {
  ASSIGN_OR_RETURN(const Selector parsed, ParseSelector(selector));
  Changed changed;
  absl::StatusOr<std::string> message;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(HealthLocked());
    message = CancelLocked(parsed, reason, changed);
  }
  Announce(changed);
  if (!message.ok()) return message.status();
  return nlohmann::json{{"schema", "normlab.cancel.v1"}, {"message", *message}};
}

absl::StatusOr<std::string> Dispatcher::Impl::CancelLocked(const Selector& selector,
                                                           const std::string& reason,
                                                           Changed& changed) {
  if (NamesRuns(selector.kind)) {
    ASSIGN_OR_RETURN(const std::vector<RunId> runs, FindRuns(selector));
    return CancelRuns(runs, reason, changed);
  }
  ASSIGN_OR_RETURN(const std::vector<SweepId> sweeps, FindSweeps(selector));
  if (sweeps.size() == 1) return CancelSweep(sweeps.front(), reason, changed);
  std::vector<std::string> messages;
  for (const SweepId sweep : sweeps) {
    const auto message = CancelSweep(sweep, reason, changed);
    // Of all sweeps, those that have ended are not meant.
    if (absl::IsFailedPrecondition(message.status())) continue;
    RETURN_IF_ERROR(message);
    messages.push_back(*message);
  }
  if (messages.empty()) return FailedPrecondition("no sweep has runs left to cancel");
  return Join(messages, "\n");
}

absl::StatusOr<std::string> Dispatcher::Impl::CancelSweep(SweepId id, const std::string& reason,
                                                          Changed& changed) {
  const Sweep* sweep = scheduler_.FindSweep(id);
  if (sweep == nullptr) return NotFound("there is no sweep ", ToString(id));
  if (sweep->cancelled) return FailedPrecondition(ToString(id), " is cancelled already");
  std::vector<RunId> unfinished;
  for (const RunId run : sweep->runs) {
    if (!IsFinal(scheduler_.FindRun(run)->state)) unfinished.push_back(run);
  }
  if (unfinished.empty()) return FailedPrecondition(ToString(id), " has ended already");
  const Moment now = Now();
  RETURN_IF_ERROR(Commit(scheduler_.OnSweepCancelled(id, reason, now.monotonic), now, changed));
  std::set<std::string> others;
  size_t going_on = 0;
  for (const RunId run : unfinished) {
    const Run& left = *scheduler_.FindRun(run);
    if (IsFinal(left.state)) continue;
    ++going_on;
    for (const SweepId other : left.sweeps) others.insert(ToString(other));
  }
  std::string message =
      Cat(ToString(id), " cancelled: ", Count(unfinished.size() - going_on, "run"), " ended");
  if (going_on > 0) {
    message += Cat(", ", going_on, going_on == 1 ? " goes" : " go", " on in ", Join(others, ", "));
  }
  return message;
}

absl::StatusOr<std::string> Dispatcher::Impl::CancelRuns(const std::vector<RunId>& runs,
                                                         const std::string& reason,
                                                         Changed& changed) {
  const Moment now = Now();
  RunChanges changes;  // all of them in one commit
  changes.now = now.wall;
  std::vector<std::string> ended;
  for (const RunId run : runs) {
    if (IsFinal(scheduler_.FindRun(run)->state)) continue;
    AddEffects(scheduler_.OnRunCancelled(run, reason, now.monotonic), now, changes, changed);
    ended.push_back(ToString(run));
  }
  RETURN_IF_ERROR(CommitChanges(changes));
  if (ended.empty() && runs.size() == 1) {
    return FailedPrecondition(ToString(runs.front()), " has ended already");
  }
  if (ended.empty()) return FailedPrecondition("these runs have all ended already");
  if (ended.size() == 1) return Cat(ended.front(), " cancelled");
  return Cat(Count(ended.size(), "run"), " cancelled: ", Join(ended, ", "));
}

absl::StatusOr<std::vector<SweepId>> Dispatcher::Impl::FindSweeps(const Selector& selector) {
  if (selector.kind == Selector::Kind::kSweep) return std::vector<SweepId>{selector.sweep};
  if (selector.kind == Selector::Kind::kAll) {
    ASSIGN_OR_RETURN(const auto names, store_.SweepNames());
    std::vector<SweepId> sweeps;
    for (const auto& [id, name] : names) sweeps.push_back(id);
    if (sweeps.empty()) return NotFound("there is no sweep yet");
    return sweeps;
  }
  const std::string name = selector.kind == Selector::Kind::kLast ? "last" : selector.name;
  ASSIGN_OR_RETURN(const SweepId sweep, FindSweepByName(name));
  return std::vector<SweepId>{sweep};
}

// "last", a name (the newest of that name), or the beginning of exactly one name.
absl::StatusOr<SweepId> Dispatcher::Impl::FindSweepByName(const std::string& wanted) {
  ASSIGN_OR_RETURN(const auto names, store_.SweepNames());
  if (names.empty()) return NotFound("there is no sweep yet");
  if (wanted == "last") return names.back().first;
  SweepId exact;
  std::map<std::string, SweepId> beginnings;
  for (const auto& [id, name] : names) {
    if (name == wanted) exact = id;
    if (name.starts_with(wanted)) beginnings[name] = id;
  }
  if (exact) return exact;
  if (beginnings.size() == 1) return beginnings.begin()->second;
  if (beginnings.empty()) return NotFound("there is no sweep '", wanted, "'");
  std::vector<std::string> several;
  for (const auto& [name, id] : beginnings) several.push_back(name);
  return InvalidArgument("'", wanted, "' begins several names: ", Join(several, ", "));
}

absl::StatusOr<std::vector<RunId>> Dispatcher::Impl::FindRuns(const Selector& selector) {
  std::vector<RunId> runs;
  const bool by_id =
      selector.kind == Selector::Kind::kRun || selector.kind == Selector::Kind::kRunRange;
  if (by_id) {
    const RunId last = std::min(selector.last_run, RunId(next_run_.value() - 1));
    for (RunId run = selector.first_run; run <= last; run = RunId(run.value() + 1)) {
      if (scheduler_.FindRun(run) != nullptr) runs.push_back(run);
    }
    if (runs.empty()) return NotFound("there is no run ", ToString(selector.first_run));
    return runs;
  }
  SweepId sweep = selector.sweep;
  if (!sweep) {
    ASSIGN_OR_RETURN(sweep, FindSweepByName(selector.name));
  }
  const std::optional<int64_t> seed =
      selector.kind == Selector::Kind::kSeed ? std::optional<int64_t>(selector.seed) : std::nullopt;
  ASSIGN_OR_RETURN(runs, store_.MemberRuns(sweep, selector.cell, seed));
  if (runs.empty()) return NotFound("there is no such cell or seed in ", ToString(sweep));
  return runs;
}

}  // namespace normlab::server
