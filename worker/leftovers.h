#ifndef NORMLAB_WORKER_LEFTOVERS_H_
#define NORMLAB_WORKER_LEFTOVERS_H_

#include <string>

#include "absl/status/status.h"
#include "worker/attempt_store.h"

namespace normlab::worker {

// Workers that share a data folder keep their logs apart, each below attempts/NAME with a LOCK that
// its process holds. One that died may never come back under its name (another number of local
// workers, another --name), and what it had not handed over is the only copy.
//
// Moves the attempts that `instance`'s server gave to dead neighbours of `own_name` from their
// folders into `store`, which then holds them as if it had recovered them. A neighbour that lives
// is passed over, and cannot start meanwhile: no log ever has two that send it. The first error,
// after all neighbours were tried.
absl::Status TakeOverLeftovers(const std::string& attempts_dir, const std::string& own_name,
                               AttemptStore& store, const std::string& instance);

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_LEFTOVERS_H_
