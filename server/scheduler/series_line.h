#ifndef NORMLAB_SERVER_SCHEDULER_SERIES_LINE_H_
#define NORMLAB_SERVER_SCHEDULER_SERIES_LINE_H_

#include <vector>

#include "core/ids.h"
#include "server/scheduler/model.h"

namespace normlab::server {

// Gives every attempt the steps that it contributes to the run's series: along the line of parents
// from the run's head, each from where it started to where the next one started (to the end for the
// head); nothing for all others. Returns the attempts whose interval changed.
std::vector<AttemptNumber> AssignIntervals(Run& run);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_SERIES_LINE_H_
