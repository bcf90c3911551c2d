#ifndef NORMLAB_SERVER_DISPATCH_MESSAGES_H_
#define NORMLAB_SERVER_DISPATCH_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "server/scheduler/worker_report.h"

namespace normlab::server {

// The calls of proto/control.proto and proto/client.proto as plain values; server/rpc converts.

// SyncRequest is the scheduler's WorkerReport (server/scheduler/worker_report.h).
using SyncRequest = WorkerReport;

struct DesiredAttempt {
  RunId run;
  AttemptNumber attempt;
  LeaseToken token;
  std::string envelope_json;   // empty for an attempt that the worker listed
  int64_t time_limit_ms = 0;   // 0: none
  int64_t stall_limit_ms = 0;  // 0: none
  std::string resume_dir;
};

struct SyncReply {
  std::vector<DesiredAttempt> desired;
  std::vector<StopOrder> stop;
  std::vector<LeaseToken> confirmed;
  int64_t next_call_in_ms = 0;
};

struct SubmitRequest {
  std::string spec_json;   // SweepSpec::ToJson
  std::string client_key;  // may be empty only for a dry run
  bool fresh = false;
  bool dry_run = false;
  int max_failures = 0;  // 0: never
};

struct SubmitReply {
  SweepId sweep;     // none for a dry run
  std::string json;  // document normlab.submit.v1
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_DISPATCH_MESSAGES_H_
