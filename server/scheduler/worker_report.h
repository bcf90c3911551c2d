#ifndef NORMLAB_SERVER_SCHEDULER_WORKER_REPORT_H_
#define NORMLAB_SERVER_SCHEDULER_WORKER_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/outcome.h"
#include "server/scheduler/resources.h"

namespace normlab::server {

// An attempt whose log is on a worker's disk.
struct HeldReport {
  RunId run;
  AttemptNumber attempt;
  LeaseToken token;
  bool finished = false;  // its log ends with an exit record
  uint64_t last_seq = 0;
  int64_t last_step = 0;
};

// What a worker says is.
struct WorkerReport {
  WorkerId worker;
  Incarnation incarnation;
  WorkerVersions versions;
  WorkerResources resources;
  std::string store_id;
  std::vector<HeldReport> held;
  bool draining = false;
  bool local = false;
};

// An attempt that a worker should end.
struct StopOrder {
  LeaseToken token;
  FailureKind reason = FailureKind::kCancelled;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_WORKER_REPORT_H_
