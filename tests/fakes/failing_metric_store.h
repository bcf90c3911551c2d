#ifndef NORMLAB_TESTS_FAKES_FAILING_METRIC_STORE_H_
#define NORMLAB_TESTS_FAKES_FAILING_METRIC_STORE_H_

#include <new>
#include <set>
#include <vector>

#include "server/store/metric_store.h"

namespace normlab::server {

// A real metric store that fails where it is told to.
class FailingMetricStore : public MetricStore {
 public:
  explicit FailingMetricStore(MetricStore& real) : real_(real) {}

  // From now on the history of `run` cannot be read; OK: it can be again.
  void FailHistoryOf(RunId run, absl::Status status) {
    failing_run_ = run;
    failure_ = std::move(status);
  }
  // The next commit throws std::bad_alloc.
  void ThrowInCommit() { throws_ = true; }

  absl::StatusOr<std::set<SweepId>> Commit(const std::vector<LogUpdate>& updates,
                                           absl::Time now) override {
    if (std::exchange(throws_, false)) throw std::bad_alloc();
    return real_.Commit(updates, now);
  }
  absl::StatusOr<LogState> FindLog(LeaseToken token, RunId run, AttemptNumber attempt) override {
    return real_.FindLog(token, run, attempt);
  }
  absl::StatusOr<LineHistory> LoadLine(RunId run, AttemptNumber attempt,
                                       int64_t resumed_from_step) override {
    if (run == failing_run_ && !failure_.ok()) return failure_;
    return real_.LoadLine(run, attempt, resumed_from_step);
  }

 private:
  MetricStore& real_;
  RunId failing_run_;
  absl::Status failure_;
  bool throws_ = false;
};

}  // namespace normlab::server

#endif  // NORMLAB_TESTS_FAKES_FAILING_METRIC_STORE_H_
