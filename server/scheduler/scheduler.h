#ifndef NORMLAB_SERVER_SCHEDULER_SCHEDULER_H_
#define NORMLAB_SERVER_SCHEDULER_SCHEDULER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/random.h"
#include "server/scheduler/attempt_news.h"
#include "server/scheduler/effects.h"
#include "server/scheduler/lease_table.h"
#include "server/scheduler/model.h"
#include "server/scheduler/run_queue.h"
#include "server/scheduler/scheduler_options.h"
#include "server/scheduler/worker_report.h"

namespace normlab::server {

// Everything that a server knew when it stopped, as far as scheduling goes.
struct SchedulerState {
  std::vector<Sweep> sweeps;  // without their runs and counts, which are made from the runs
  std::vector<Run> runs;      // by id
  std::vector<Worker> workers;
};

// A sweep as submitted: runs it makes and runs of others that it asks for as well.
struct NewSweep {
  SweepId id;
  int64_t priority = 0;
  int64_t max_failures = 0;
  std::vector<Run> runs;      // id, demand and budget are looked at
  std::vector<RunId> linked;  // must be known and neither failed nor cancelled
};

// What a worker is told.
struct WorkerOrders {
  struct Wanted {
    RunId run;
    AttemptNumber attempt;
    bool send_envelope = false;  // the worker did not list it
  };
  std::vector<Wanted> wanted;
  std::vector<StopOrder> stop;
  std::vector<LeaseToken> confirmed;
  absl::Duration next_call;
};

// Which run goes where, as a state machine: every change of state is an On… call that takes all it
// needs as arguments, the time included, and says what it changed. No clock, no disk, no network;
// not thread-safe (the dispatcher holds the lock). Handlers may be repeated: told the same again,
// nothing changes.
class Scheduler {
 public:
  // `random` makes lease tokens; it outlives the scheduler.
  Scheduler(const SchedulerOptions& options, RandomSource& random);

  // Once, before anything else. Every lease gets a full term from `now`, so that a restart costs
  // nobody an attempt.
  void Restore(SchedulerState state, absl::Time now);

  Effects OnSubmitted(NewSweep sweep, absl::Time now);

  // Takes `report` in and gives the worker's orders. Aborted: a newer incarnation has called.
  absl::StatusOr<WorkerOrders> OnReport(const WorkerReport& report, absl::Time now,
                                        Effects& effects);

  // What the committed part of an attempt's log says. Ignored for unknown and void tokens, but for
  // two things that change no state: checkpoints can be resumed, and complete logs can be
  // confirmed.
  Effects OnNews(const AttemptNews& news, absl::Time now);

  // The sweep asks for nothing any more; runs that no other sweep asks for end now.
  Effects OnSweepCancelled(SweepId sweep, const std::string& reason, absl::Time now);

  // The run ends now, whoever asks for it. No effect on one that has ended.
  Effects OnRunCancelled(RunId run, const std::string& reason, absl::Time now);

  // Expires leases, ends waits, loses workers that do not call.
  Effects OnTime(absl::Time now);

  // Null when there is none; valid until the next On… call.
  const Run* FindRun(RunId run) const;
  const Sweep* FindSweep(SweepId sweep) const;
  const Worker* FindWorker(const WorkerId& worker) const;
  const std::map<WorkerId, Worker>& workers() const { return workers_; }

  // Slots of a worker that live attempts take.
  int Busy(const WorkerId& worker) const;

  const SchedulerOptions& options() const { return options_; }

 private:
  friend std::vector<std::string> BrokenInvariants(const Scheduler& scheduler);

  struct Ref {  // an attempt, found by its token
    Run* run = nullptr;
    Attempt* attempt = nullptr;
  };
  struct Capacity {  // of a worker, free now
    int64_t slots = 0;
    int64_t gpus = 0;
    int64_t cpus = 0;
    int64_t memory_bytes = 0;
  };

  Ref FindAttempt(LeaseToken token);

  // scheduler.cc: runs
  void Move(Run& run, RunState state, std::string reason, const Attempt* attempt, Effects& effects);
  void Enqueue(Run& run, absl::Time now);
  void Unqueue(Run& run);
  void Reprioritize(Run& run);
  void EndRun(Run& run, RunState state, const std::string& reason, const Attempt* attempt,
              Effects& effects);
  void DropSweep(Sweep& sweep, const std::string& reason, Effects& effects);
  void CancelRun(Run& run, const std::string& reason, Effects& effects);
  void RestoreRun(Run& run, absl::Time now);

  // attempt_events.cc: attempts
  void OnHello(Run& run, Attempt& attempt, const HelloNews& hello, Effects& effects);
  void OnExit(Run& run, Attempt& attempt, const ExitNews& exit, absl::Time now, Effects& effects);
  void OnCheckpoint(Run& run, const Attempt& attempt, const CheckpointNews& checkpoint);
  void Lose(Run& run, Attempt& attempt, absl::Time now, Effects& effects);
  void AfterFailure(Run& run, Attempt& attempt, bool setup_failed, absl::Time now,
                    Effects& effects);
  void Blame(const WorkerId& worker, absl::Time now, Effects& effects);

  // worker_reports.cc: workers
  void TakeOver(Worker& worker, const WorkerReport& report, absl::Time now, Effects& effects);
  void UpdateWorker(Worker& worker, const WorkerReport& report, absl::Time now, Effects& effects);
  void ReviewHeld(const WorkerReport& report, absl::Time now, Capacity& capacity,
                  WorkerOrders& orders);
  void ReviewVoid(const HeldReport& held, Capacity& capacity, WorkerOrders& orders);

  // placement.cc
  bool MayWork(const Worker& worker, absl::Time now) const;
  bool AnotherCouldTake(const Run& run, const Worker& worker, absl::Time now) const;
  bool Accepts(const Worker& worker, const Run& run, absl::Time now) const;
  const Checkpoint* BestCheckpoint(const Run& run, const std::string& store_id) const;
  void Place(Worker& worker, absl::Time now, Capacity& capacity, WorkerOrders& orders,
             Effects& effects);
  Attempt& StartAttempt(Run& run, const Worker& worker, absl::Time now, Effects& effects);
  static void Take(const Demand& demand, Capacity& capacity);

  const SchedulerOptions options_;
  RandomSource& random_;
  std::map<SweepId, Sweep> sweeps_;
  std::map<RunId, Run> runs_;
  std::map<WorkerId, Worker> workers_;
  std::map<LeaseToken, std::pair<RunId, AttemptNumber>> tokens_;  // ever issued
  LeaseTable leases_;
  RunQueue queue_;
  std::set<std::pair<absl::Time, RunId>> waiting_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_SCHEDULER_H_
