#ifndef NORMLAB_TESTS_SERVER_SCHEDULER_SCHEDULER_LAB_H_
#define NORMLAB_TESTS_SERVER_SCHEDULER_SCHEDULER_LAB_H_

#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "server/scheduler/scheduler.h"

namespace normlab::server {

// A scheduler with time in its hands and workers that do as they are told, for tests. Checks every
// invariant after every event.
class SchedulerLab {
 public:
  explicit SchedulerLab(uint64_t seed = 1);

  absl::Time now() const { return now_; }
  void Advance(absl::Duration duration);
  Scheduler& scheduler() { return *scheduler_; }
  const Run& run(int64_t id) const { return *scheduler_->FindRun(RunId(id)); }

  // A sweep of `count` new runs, numbered on from the last one.
  SweepId Submit(int count, const Demand& demand = {}, std::vector<RunId> linked = {},
                 int64_t priority = 0, int64_t max_failures = 0);
  // A report with everything that a test does not care about filled in.
  static WorkerReport Report(const std::string& worker, int slots = 1);
  static HeldReport Held(const Run& run, bool finished = false);
  absl::StatusOr<WorkerOrders> Call(const WorkerReport& report);
  // The worker calls, holding what it is told to hold; returns what it is to start.
  std::vector<WorkerOrders::Wanted> Fetch(const WorkerReport& report);

  // News of the run's newest attempt.
  void Hello(int64_t run, int64_t resumed_from_step = -1);
  void Checkpointed(int64_t run, int64_t step);
  void Exit(int64_t run, FailureKind failure = FailureKind::kNone, int64_t last_step = 0);
  void News(const AttemptNews& news);

  void Check(const Effects& effects);

 private:
  AttemptNews About(int64_t run) const;

  std::unique_ptr<RandomSource> random_;
  std::unique_ptr<Scheduler> scheduler_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  int64_t next_sweep_ = 1;
  int64_t next_run_ = 1;
};

}  // namespace normlab::server

#endif  // NORMLAB_TESTS_SERVER_SCHEDULER_SCHEDULER_LAB_H_
