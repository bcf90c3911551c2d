#ifndef NORMLAB_SERVER_SCHEDULER_EFFECTS_H_
#define NORMLAB_SERVER_SCHEDULER_EFFECTS_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/outcome.h"

namespace normlab::server {

struct Transition {
  RunId run;
  RunState state = RunState::kQueued;
  std::string reason;
  AttemptNumber attempt;  // none: not about one
  WorkerId worker;
};

// What an event changed: whoever asked reads the new values from the scheduler and makes them
// durable before anybody else hears of them.
struct Effects {
  std::set<RunId> runs;
  std::set<std::pair<RunId, AttemptNumber>> attempts;
  std::set<WorkerId> workers;
  std::map<SweepId, std::string> cancelled;  // with the reason
  std::vector<Transition> transitions;

  bool empty() const {
    return runs.empty() && attempts.empty() && workers.empty() && cancelled.empty() &&
           transitions.empty();
  }
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_EFFECTS_H_
