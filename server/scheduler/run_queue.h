#ifndef NORMLAB_SERVER_SCHEDULER_RUN_QUEUE_H_
#define NORMLAB_SERVER_SCHEDULER_RUN_QUEUE_H_

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "absl/functional/function_ref.h"
#include "core/ids.h"
#include "server/scheduler/resources.h"

namespace normlab::server {

// Runs that could start now, by class of equal demand and in each by priority (highest first), then
// id. Picking looks at a bounded number of runs per class, so that a long queue of runs that cannot
// start costs no more than a short one. No lock: the caller's.
class RunQueue {
 public:
  // How many runs of a class one pick looks at.
  static constexpr int kLookAhead = 32;

  void Add(RunId run, const Demand& demand, int64_t priority);
  // False when it is not queued.
  bool Remove(RunId run);
  bool Contains(RunId run) const { return places_.contains(run); }
  // Of a queued run; the demand stays.
  void SetPriority(RunId run, int64_t priority);
  size_t size() const { return places_.size(); }

  // The best run among those whose demand `fits` and that `accepts`; stays queued.
  std::optional<RunId> Pick(absl::FunctionRef<bool(const Demand&)> fits,
                            absl::FunctionRef<bool(RunId)> accepts) const;

 private:
  using Place = std::tuple<int64_t, RunId>;  // (-priority, run): best first
  std::map<Demand, std::set<Place>> classes_;
  std::map<RunId, std::pair<Demand, int64_t>> places_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_RUN_QUEUE_H_
