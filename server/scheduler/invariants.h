#ifndef NORMLAB_SERVER_SCHEDULER_INVARIANTS_H_
#define NORMLAB_SERVER_SCHEDULER_INVARIANTS_H_

#include <string>
#include <vector>

#include "server/scheduler/scheduler.h"

namespace normlab::server {

// Everything that must hold between the scheduler's parts after every event, checked from scratch;
// a sentence for each thing that does not. Empty: sound. For tests, simulation and doctors: it
// walks everything.
std::vector<std::string> BrokenInvariants(const Scheduler& scheduler);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_INVARIANTS_H_
