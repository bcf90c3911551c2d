#ifndef NORMLAB_SERVER_SCHEDULER_EXPLAIN_H_
#define NORMLAB_SERVER_SCHEDULER_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/outcome.h"
#include "server/scheduler/resources.h"

namespace normlab::server {

// What people are told about why something does not run. Pure functions of facts that the database
// holds, so that they are the same with and without a server.

struct WorkerFacts {
  std::string id;
  bool connected = false;
  bool draining = false;
  bool quarantined = false;
  WorkerVersions versions;
  WorkerResources resources;
  int busy = 0;  // slots
};

struct RunFacts {
  RunState state = RunState::kQueued;
  Demand demand;
  std::string reason;         // code of the last transition
  std::string failure;        // kind of the last failed attempt, or ""
  std::string stopped_by;     // rule, or ""
  std::string outcome;        // of a done run, or ""
  std::string worker;         // of the current attempt, or ""
  std::string waiting_until;  // ISO 8601, of a waiting run
  int attempts = 0;
  int64_t failures = 0;
  int64_t budget_failures = 0;
};

// Why this worker can never run something of this demand: "has no GPU". Empty: it can.
std::string WhyUnfit(const Demand& demand, const WorkerFacts& worker, int trainer_math);

// Whether a worker with all slots free has room for it.
bool FitsResources(const Demand& demand, const WorkerResources& resources);

// Whether a worker could run something of this demand if all its slots were free.
bool CanEverRun(const Demand& demand, const WorkerFacts& worker, int trainer_math);

// "needs 2 GPUs; no connected worker has 2". Empty when some connected worker can run it.
std::string WhyNowhere(const Demand& demand, const std::vector<WorkerFacts>& workers,
                       int trainer_math);

// The same for a whole sweep: "needs 2 GPUs per run; no connected worker has 2".
std::string DemandWarning(const Demand& demand, const std::vector<WorkerFacts>& workers,
                          int trainer_math);

// For a sweep with runs in bf16 and no GPU: names a connected worker that could get them although
// its processor has no instructions for bf16. Empty: there is none.
std::string SlowBf16Warning(const Demand& demand, const std::vector<WorkerFacts>& workers,
                            int trainer_math);

// One sentence: why the run is where it is.
std::string ExplainRun(const RunFacts& run, const std::vector<WorkerFacts>& workers,
                       int trainer_math);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_EXPLAIN_H_
