#ifndef NORMLAB_SERVER_DISPATCH_DISPATCHER_IMPL_H_
#define NORMLAB_SERVER_DISPATCH_DISPATCHER_IMPL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/selector.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/row_conversion.h"
#include "server/dispatch/submission.h"
#include "server/scheduler/explain.h"
#include "server/scheduler/scheduler.h"
#include "server/store/run_store.h"

namespace normlab::server {

class Dispatcher::Impl {
 public:
  Impl(const DispatcherOptions& options, RunStore& store, Clock& clock, RandomSource& random)
      : options_(options), store_(store), clock_(clock), scheduler_(options.scheduler, random) {}

  absl::Status Load();
  void SetChangeListener(ChangeListener listener) { listener_ = std::move(listener); }
  absl::StatusOr<SyncReply> Synchronize(const SyncRequest& request, const Patience& patience);
  void EndWaits();
  absl::StatusOr<SubmitReply> Submit(const SubmitRequest& request);
  absl::StatusOr<nlohmann::json> Cancel(const std::string& selector, const std::string& reason);
  absl::Status OnAttemptNews(const std::vector<AttemptNews>& news);
  absl::Status Tick();
  absl::Status Health() const;

 private:
  // What a commit changed, for the listener.
  struct Changed {
    std::set<SweepId> sweeps;
    std::set<RunId> runs;
  };

  Moment Now() const { return {clock_.Now(), clock_.MonotonicNow()}; }
  void Announce(const Changed& changed) const;

  // dispatcher.cc
  void AddEffects(const Effects& effects, const Moment& now, RunChanges& changes, Changed& changed)
      EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes `effects` durable; afterwards everything is refused if that fails.
  absl::Status Commit(const Effects& effects, const Moment& now, Changed& changed)
      EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CommitChanges(const RunChanges& changes) EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status HealthLocked() const EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReplayLogs(const SavedState& saved, const Moment& now) EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // synchronize.cc
  struct Call {  // of a worker, from its arrival to its answer
    const SyncRequest& request;
    const Patience& patience;
    uint64_t turn = 0;  // of the worker's calls: a newer one has a higher number
    absl::Time deadline;
  };
  struct Exchange {
    absl::StatusOr<SyncReply> reply;
    bool says_something = false;
    uint64_t news_seen = 0;
  };
  Exchange Answer(const Call& call, Changed& changed) EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // True when there is something new to look at; false when it is time to answer.
  bool AwaitNews(const Call& call, uint64_t seen);
  absl::StatusOr<SyncReply> ReplyOf(const WorkerOrders& orders) EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::string> EnvelopeOf(const Run& run, const Attempt& attempt)
      EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // submit.cc
  absl::StatusOr<SubmitReply> SubmitLocked(const SubmitRequest& request, PreparedSweep& prepared,
                                           Changed& changed) EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<nlohmann::json> AnswerOf(const PreparedSweep& prepared, const SubmissionPlan& plan,
                                          const std::optional<SweepId>& sweep, const Moment& now)
      EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<nlohmann::json> EstimateOf(const PreparedSweep& prepared,
                                            const SubmissionPlan& plan)
      EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<WorkerFacts> WorkersNow(const Moment& now) const EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // cancel.cc
  absl::StatusOr<std::string> CancelLocked(const Selector& selector, const std::string& reason,
                                           Changed& changed) EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::vector<SweepId>> FindSweeps(const Selector& selector)
      EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<SweepId> FindSweepByName(const std::string& name) EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::vector<RunId>> FindRuns(const Selector& selector)
      EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::string> CancelSweep(SweepId sweep, const std::string& reason,
                                          Changed& changed) EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::string> CancelRuns(const std::vector<RunId>& runs, const std::string& reason,
                                         Changed& changed) EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const DispatcherOptions options_;
  RunStore& store_;
  Clock& clock_;
  ChangeListener listener_;

  mutable Mutex mu_;
  Scheduler scheduler_ GUARDED_BY(mu_);
  SweepId next_sweep_ GUARDED_BY(mu_){1};
  RunId next_run_ GUARDED_BY(mu_){1};
  absl::Status failure_ GUARDED_BY(mu_);
  // Counts the commits that may concern a waiting worker.
  uint64_t news_ GUARDED_BY(mu_) = 0;
  CondVar news_cond_;
  std::map<WorkerId, uint64_t> turns_ GUARDED_BY(mu_);
  bool waits_over_ GUARDED_BY(mu_) = false;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_DISPATCH_DISPATCHER_IMPL_H_
