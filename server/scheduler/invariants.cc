#include "server/scheduler/invariants.h"

#include <algorithm>

#include "core/strings.h"

namespace normlab::server {
namespace {

class Findings {
 public:
  template <typename... Args>
  void Expect(bool holds, const Args&... what) {
    if (!holds) broken_.push_back(Cat(what...));
  }
  std::vector<std::string> Take() { return std::move(broken_); }

 private:
  std::vector<std::string> broken_;
};

void CheckAttempts(const Run& run, Findings& findings) {
  const std::string name = ToString(run.id);
  int live = 0;
  for (size_t i = 0; i < run.attempts.size(); ++i) {
    const Attempt& attempt = run.attempts[i];
    findings.Expect(attempt.number.value() == static_cast<int>(i) + 1, name, ": attempt ",
                    ToString(attempt.number), " is out of place");
    findings.Expect(attempt.parent < attempt.number, name, ": an attempt resumes a later one");
    findings.Expect(static_cast<bool>(attempt.token), name, ": an attempt without a token");
    if (attempt.state == AttemptState::kRunning) ++live;
  }
  findings.Expect(live <= 1, name, " has ", live, " live attempts");
  findings.Expect((live == 1) == (run.state == RunState::kRunning), name, " is ",
                  ToString(run.state), " with ", live, " live attempts");
  if (run.state == RunState::kDone) {
    findings.Expect(!run.attempts.empty() && run.attempts.back().state == AttemptState::kEnded &&
                        run.attempts.back().reason == FailureKind::kNone,
                    name, " is done without an attempt that finished");
    findings.Expect(run.outcome.has_value(), name, " is done without an outcome");
  }
}

// The intervals of the attempts share no step and, once anything counts, begin before step 0 and
// leave no step out.
void CheckIntervals(const Run& run, Findings& findings) {
  std::vector<std::pair<int64_t, int64_t>> intervals;
  for (const Attempt& attempt : run.attempts) {
    if (attempt.count_after < attempt.count_to) {
      intervals.emplace_back(attempt.count_after, attempt.count_to);
    }
  }
  findings.Expect(intervals.empty() == !run.head, ToString(run.id), ": head and intervals differ");
  if (intervals.empty()) return;
  std::sort(intervals.begin(), intervals.end());
  findings.Expect(intervals.front().first == -1, ToString(run.id), ": the first steps are missing");
  findings.Expect(intervals.back().second == kNoLimit, ToString(run.id), ": the end is closed");
  for (size_t i = 1; i < intervals.size(); ++i) {
    findings.Expect(intervals[i].first == intervals[i - 1].second, ToString(run.id),
                    ": a hole or a repeat at step ", intervals[i].first);
  }
}

}  // namespace

std::vector<std::string> BrokenInvariants(const Scheduler& scheduler) {
  Findings findings;
  size_t queued = 0;
  size_t waiting = 0;
  size_t running = 0;
  for (const auto& [id, run] : scheduler.runs_) {
    const std::string name = ToString(id);
    CheckAttempts(run, findings);
    CheckIntervals(run, findings);
    queued += run.state == RunState::kQueued;
    waiting += run.state == RunState::kWaiting;
    running += run.state == RunState::kRunning;
    findings.Expect(scheduler.queue_.Contains(id) == (run.state == RunState::kQueued), name, " is ",
                    ToString(run.state), ", the queue says otherwise");
    findings.Expect(
        scheduler.waiting_.contains({run.waiting_until, id}) == (run.state == RunState::kWaiting),
        name, " is ", ToString(run.state), ", the waiting list says otherwise");
    if (const Attempt* live = run.Live()) {
      const Lease* lease = scheduler.leases_.Find(live->token);
      findings.Expect(lease != nullptr && lease->run == id && lease->attempt == live->number &&
                          lease->worker == live->worker,
                      name, ": its live attempt holds no lease");
    }
    findings.Expect(IsFinal(run.state) || !run.sweeps.empty(), name, ": nobody asks for it");
    int64_t priority = std::numeric_limits<int64_t>::min();
    for (const SweepId sweep : run.sweeps) {
      const auto& asking = scheduler.sweeps_.at(sweep);
      priority = std::max(priority, asking.priority);
      findings.Expect(asking.runs.contains(id), name, ": ", ToString(sweep), " does not know it");
    }
    findings.Expect(run.sweeps.empty() || run.priority == priority, name, ": wrong priority");
    for (const Attempt& attempt : run.attempts) {
      const auto token = scheduler.tokens_.find(attempt.token);
      findings.Expect(token != scheduler.tokens_.end() && token->second.first == id &&
                          token->second.second == attempt.number,
                      name, ": a token leads elsewhere");
    }
  }
  findings.Expect(scheduler.queue_.size() == queued, "the queue holds runs that are not queued");
  findings.Expect(scheduler.waiting_.size() == waiting, "the waiting list is too long");
  findings.Expect(scheduler.leases_.size() == running, "a lease without a running run");
  for (const auto& [id, sweep] : scheduler.sweeps_) {
    const auto failed = std::count_if(sweep.runs.begin(), sweep.runs.end(), [&](RunId run) {
      return scheduler.runs_.at(run).state == RunState::kFailed;
    });
    findings.Expect(failed == sweep.failed, ToString(id), ": counts ", sweep.failed, " failures");
    findings.Expect(!sweep.cancelled || sweep.runs.empty(), ToString(id), ": cancelled, but asks");
  }
  return findings.Take();
}

}  // namespace normlab::server
