#include "server/scheduler/series_line.h"

#include <utility>

namespace normlab::server {

std::vector<AttemptNumber> AssignIntervals(Run& run) {
  std::vector<std::pair<int64_t, int64_t>> intervals(run.attempts.size(), {0, 0});
  int64_t to = kNoLimit;
  for (const Attempt* attempt = run.Find(run.head); attempt != nullptr;
       attempt = run.Find(attempt->parent)) {
    // From scratch: step 0, before training, belongs to it as well.
    const int64_t after = attempt->parent ? attempt->start_step : -1;
    intervals[static_cast<size_t>(attempt->number.value()) - 1] = {after, to};
    to = after;
  }
  std::vector<AttemptNumber> changed;
  for (size_t i = 0; i < intervals.size(); ++i) {
    Attempt& attempt = run.attempts[i];
    const auto [after, until] = intervals[i];
    if (attempt.count_after == after && attempt.count_to == until) continue;
    attempt.count_after = after;
    attempt.count_to = until;
    changed.push_back(attempt.number);
  }
  return changed;
}

}  // namespace normlab::server
