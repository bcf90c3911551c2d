#ifndef NORMLAB_WORKER_WORKER_LOOP_H_
#define NORMLAB_WORKER_WORKER_LOOP_H_

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "worker/attempt_store.h"
#include "worker/relay.h"
#include "worker/session.h"
#include "worker/slots.h"
#include "worker/trouble_log.h"
#include "worker/wake.h"
#include "worker/worker.h"

namespace normlab::worker {

// What wakes the two loops; made before the parts that notify them.
struct WorkerWakes {
  explicit WorkerWakes(Clock& clock) : session(clock), record(clock), urgent(clock) {}
  Wake session;  // call the server now
  Wake record;   // a log grew
  Wake urgent;   // do not wait for more records: an attempt ended, or we end

  void OnAttemptEnded() {
    record.Notify();
    urgent.Notify();
  }
};

// Calls session and relay over and over, each on its own thread, and decides when the worker ends.
class WorkerLoop {
 public:
  WorkerLoop(const WorkerOptions& options, Session& session, Relay& relay, Slots& slots,
             AttemptStore& store, WorkerWakes& wakes, Clock& clock);

  // `still_ours` is asked again and again whether the worker's folder is the one that it locked;
  // when it is not, the worker ends at once: another process may have it by now.
  void SetOwnership(std::function<bool()> still_ours) { still_ours_ = std::move(still_ours); }

  // Until the worker is to end; gives back the exit code (worker.h).
  int Run();

  // Trainers checkpoint and end, then the worker. The second time: trainers are killed.
  // Thread-safe.
  void AskToStop() {
    ++stops_asked_;
    wakes_.session.Notify();
    session_.EndWait();
  }

 private:
  void RelayUntilStopped();
  void ObeySignals();
  void ObeyServerLoss();
  // The exit code when it is time.
  std::optional<int> TimeToEnd() const;

  const WorkerOptions& options_;
  Session& session_;
  Relay& relay_;
  Slots& slots_;
  AttemptStore& store_;
  WorkerWakes& wakes_;
  Clock& clock_;
  const absl::Time started_;
  std::atomic<int> stops_asked_ = 0;
  int stops_obeyed_ = 0;
  std::atomic<bool> relay_stops_ = false;
  absl::Status last_status_;
  std::function<bool()> still_ours_ = [] { return true; };
  TroubleLog session_trouble_{"out of step with the server", "in step with the server again"};
  TroubleLog relay_trouble_{"cannot hand records over (they wait on disk)",
                            "records are handed over again"};
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_WORKER_LOOP_H_
