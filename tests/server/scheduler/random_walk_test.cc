#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/random.h"
#include "core/strings.h"
#include "tests/server/scheduler/scheduler_lab.h"

namespace normlab::server {
namespace {

// Workers that die, forget, repeat themselves and fail at random. Safety: the invariants after
// every event (SchedulerLab). Liveness: once the faults stop, every run comes to an end.
class RandomWalk {
 public:
  explicit RandomWalk(uint64_t seed) : lab_(seed), random_(SeededRandom(seed ^ 0x5eed)) {}

  void Faulty(int steps) {
    lab_.Submit(8);
    for (int i = 0; i < steps; ++i) OneFault();
  }

  void Calm() {
    // Longer than any lease, wait or quarantine can last, a few times over.
    for (int i = 0; i < 2000 && Unfinished() > 0; ++i) {
      for (int worker = 0; worker < kWorkers; ++worker) Call(worker);
      for (int64_t id = 1; id <= runs_; ++id) {
        if (lab_.run(id).Live() != nullptr) Finish(id, FailureKind::kNone);
      }
      lab_.Advance(absl::Seconds(10));
    }
  }

  int Unfinished() const {
    int unfinished = 0;
    for (int64_t id = 1; id <= runs_; ++id) unfinished += !IsFinal(lab_.run(id).state);
    return unfinished;
  }

 private:
  static constexpr int kWorkers = 3;
  uint64_t Below(uint64_t n) { return random_->Next() % n; }

  void Call(int worker) {
    WorkerReport report = SchedulerLab::Report(Cat("w", worker), 2);
    report.incarnation = Incarnation(Cat("w", worker, "-", starts_[worker]));
    report.store_id = worker == 0 ? "own" : "shared";
    for (const LeaseToken token : held_[worker]) {
      HeldReport held;
      held.token = token;
      report.held.push_back(held);
    }
    const auto orders = lab_.Call(report);
    ASSERT_TRUE(orders.ok()) << orders.status();
    for (const StopOrder& stop : orders->stop) held_[worker].erase(stop.token);
    if (Below(4) == 0) return;  // the reply was lost
    for (const auto& wanted : orders->wanted) {
      held_[worker].insert(lab_.run(wanted.run.value()).Find(wanted.attempt)->token);
    }
  }

  // The checkpoint that was asked for, or one further back on its line.
  int64_t ResumedFrom(const Run& run) {
    const Attempt* attempt = &run.attempts.back();
    while (attempt->parent && run.Find(attempt->parent)->parent && Below(3) == 0) {
      attempt = run.Find(attempt->parent);
    }
    if (!attempt->parent) return 0;
    return std::max<int64_t>(1, attempt->start_step - static_cast<int64_t>(Below(2)));
  }

  void Finish(int64_t id, FailureKind failure) {
    const LeaseToken token = lab_.run(id).attempts.back().token;
    lab_.Hello(id, Below(2) == 0 ? -1 : ResumedFrom(lab_.run(id)));
    lab_.Exit(id, failure, static_cast<int64_t>(Below(300)));
    for (auto& [worker, held] : held_) held.erase(token);
  }

  void OneFault() {
    const auto id = static_cast<int64_t>(1 + Below(runs_));
    const int worker = static_cast<int>(Below(kWorkers));
    const Run& run = lab_.run(id);
    switch (Below(9)) {
      case 0:
        lab_.Advance(absl::Seconds(static_cast<int64_t>(Below(60))));
        break;
      case 1:  // killed and started again
        held_[worker].clear();
        ++starts_[worker];
        break;
      case 2:
        if (run.Live() != nullptr && run.Live()->said_hello) {
          lab_.Checkpointed(id, run.Live()->start_step + 1 + static_cast<int64_t>(Below(50)));
        }
        break;
      case 3:
        if (!run.attempts.empty() && run.Live() != nullptr) lab_.Hello(id, -1);
        break;
      case 4:
        if (run.Live() != nullptr) Finish(id, static_cast<FailureKind>(1 + Below(8)));
        break;
      case 5:
        if (run.Live() != nullptr && Below(3) == 0) Finish(id, FailureKind::kNone);
        break;
      default:
        Call(worker);
    }
  }

  SchedulerLab lab_;
  std::unique_ptr<RandomSource> random_;
  int64_t runs_ = 8;
  std::map<int, int> starts_;
  std::map<int, std::set<LeaseToken>> held_;
};

TEST(Scheduler, SoundUnderFaultsAndLiveAfterThem) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(Cat("seed ", seed));
    RandomWalk walk(seed);
    walk.Faulty(400);
    walk.Calm();
    ASSERT_EQ(walk.Unfinished(), 0);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace normlab::server
