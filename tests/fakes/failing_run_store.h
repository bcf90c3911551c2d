#ifndef NORMLAB_TESTS_FAKES_FAILING_RUN_STORE_H_
#define NORMLAB_TESTS_FAKES_FAILING_RUN_STORE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/store/run_store.h"

namespace normlab::server {

// Forwards to a real store and fails commits on demand, before they reach it.
class FailingRunStore : public RunStore {
 public:
  explicit FailingRunStore(RunStore& real) : real_(real) {}

  void FailCommits(bool fail) { fail_ = fail; }

  absl::Status Commit(const RunChanges& changes) override {
    if (fail_) return absl::ResourceExhaustedError("the disk is full");
    return real_.Commit(changes);
  }
  absl::StatusOr<SavedState> Load() override { return real_.Load(); }
  absl::StatusOr<std::optional<Submission>> FindSubmission(const std::string& key) override {
    return real_.FindSubmission(key);
  }
  absl::StatusOr<std::vector<LinkCandidate>> FindRuns(const std::string& identity) override {
    return real_.FindRuns(identity);
  }
  absl::StatusOr<LaunchFacts> Launch(RunId run) override { return real_.Launch(run); }
  absl::StatusOr<std::optional<double>> SecondsPerStep(const std::string& cost_class) override {
    return real_.SecondsPerStep(cost_class);
  }
  absl::StatusOr<std::vector<std::pair<SweepId, std::string>>> SweepNames() override {
    return real_.SweepNames();
  }
  absl::StatusOr<std::vector<RunId>> MemberRuns(SweepId sweep, CellNumber cell,
                                                std::optional<int64_t> seed) override {
    return real_.MemberRuns(sweep, cell, seed);
  }

 private:
  RunStore& real_;
  bool fail_ = false;
};

}  // namespace normlab::server

#endif  // NORMLAB_TESTS_FAKES_FAILING_RUN_STORE_H_
