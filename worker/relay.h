#ifndef NORMLAB_WORKER_RELAY_H_
#define NORMLAB_WORKER_RELAY_H_

#include <cstddef>

#include "absl/status/status.h"
#include "core/ids.h"
#include "worker/attempt_store.h"
#include "worker/server_link.h"

namespace normlab::worker {

struct RelayOptions {
  WorkerId worker;
  Incarnation incarnation;
  size_t max_batch_bytes = 1 << 20;
};

// Hands the logs of all held attempts over to the server. It keeps no state of its own beyond what
// the server last acknowledged: after an error, a restart or a server that went back in time, the
// next reply says where to go on. One thread.
class Relay {
 public:
  // `store` and `link` outlive this.
  Relay(RelayOptions options, AttemptStore& store, ServerLink& link);

  struct Result {
    absl::Status status;     // the first error, of the link or a disk
    bool more = false;       // something is left to send now
    bool delivered = false;  // the server got the last record of an attempt
  };

  // Sends at most one batch of every attempt. An error of one attempt does not keep the others from
  // being sent, unless the server cannot be reached at all.
  Result Step();

 private:
  absl::Status Send(HeldAttempt& attempt, Result& result);
  const RelayOptions options_;
  AttemptStore& store_;
  ServerLink& link_;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_RELAY_H_
