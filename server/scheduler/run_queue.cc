#include "server/scheduler/run_queue.h"

#include "core/check.h"

namespace normlab::server {

void RunQueue::Add(RunId run, const Demand& demand, int64_t priority) {
  const bool added = places_.emplace(run, std::make_pair(demand, priority)).second;
  CHECK(added) << ToString(run) << " queued twice";
  classes_[demand].emplace(-priority, run);
}

bool RunQueue::Remove(RunId run) {
  const auto found = places_.find(run);
  if (found == places_.end()) return false;
  const auto& [demand, priority] = found->second;
  const auto same = classes_.find(demand);
  same->second.erase({-priority, run});
  if (same->second.empty()) classes_.erase(same);
  places_.erase(found);
  return true;
}

void RunQueue::SetPriority(RunId run, int64_t priority) {
  const auto found = places_.find(run);
  CHECK(found != places_.end()) << ToString(run) << " is not queued";
  const Demand demand = found->second.first;
  Remove(run);
  Add(run, demand, priority);
}

std::optional<RunId> RunQueue::Pick(absl::FunctionRef<bool(const Demand&)> fits,
                                    absl::FunctionRef<bool(RunId)> accepts) const {
  std::optional<Place> best;
  for (const auto& [demand, places] : classes_) {
    if (!fits(demand)) continue;
    int looked_at = 0;
    for (const Place& place : places) {
      if (best.has_value() && *best < place) break;
      if (++looked_at > kLookAhead) break;
      if (!accepts(std::get<RunId>(place))) continue;
      best = place;
      break;
    }
  }
  if (!best.has_value()) return std::nullopt;
  return std::get<RunId>(*best);
}

}  // namespace normlab::server
