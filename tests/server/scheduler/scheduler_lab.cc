#include "tests/server/scheduler/scheduler_lab.h"

#include <gtest/gtest.h>

#include "core/strings.h"
#include "core/version.h"
#include "server/scheduler/invariants.h"

namespace normlab::server {

SchedulerLab::SchedulerLab(uint64_t seed)
    : random_(SeededRandom(seed)),
      scheduler_(std::make_unique<Scheduler>(SchedulerOptions(), *random_)) {}

void SchedulerLab::Advance(absl::Duration duration) {
  now_ += duration;
  Check(scheduler_->OnTime(now_));
}

SweepId SchedulerLab::Submit(int count, const Demand& demand, std::vector<RunId> linked,
                             int64_t priority, int64_t max_failures) {
  NewSweep sweep;
  sweep.id = SweepId(next_sweep_++);
  sweep.priority = priority;
  sweep.max_failures = max_failures;
  sweep.linked = std::move(linked);
  for (int i = 0; i < count; ++i) {
    Run run;
    run.id = RunId(next_run_++);
    run.demand = demand;
    sweep.runs.push_back(std::move(run));
  }
  const SweepId id = sweep.id;
  Check(scheduler_->OnSubmitted(std::move(sweep), now_));
  return id;
}

WorkerReport SchedulerLab::Report(const std::string& worker, int slots) {
  WorkerReport report;
  report.worker = WorkerId(worker);
  report.incarnation = Incarnation(worker + "-start-1");
  report.versions.protocol = kProtocolVersion;
  report.versions.trainer_math = kTrainerMath;
  report.resources = {"host", slots, 8, int64_t{16} << 30, {}};
  report.store_id = "store-" + worker;
  return report;
}

HeldReport SchedulerLab::Held(const Run& run, bool finished) {
  const Attempt& attempt = run.attempts.back();
  return {run.id, attempt.number, attempt.token, finished, 0, 0};
}

absl::StatusOr<WorkerOrders> SchedulerLab::Call(const WorkerReport& report) {
  Effects effects;
  auto orders = scheduler_->OnReport(report, now_, effects);
  Check(effects);
  return orders;
}

std::vector<WorkerOrders::Wanted> SchedulerLab::Fetch(const WorkerReport& report) {
  const auto orders = Call(report);
  EXPECT_TRUE(orders.ok()) << orders.status();
  return orders.ok() ? orders->wanted : std::vector<WorkerOrders::Wanted>();
}

AttemptNews SchedulerLab::About(int64_t id) const {
  const Attempt& attempt = run(id).attempts.back();
  return {RunId(id), attempt.number, attempt.token, ProgressNews{}};
}

void SchedulerLab::News(const AttemptNews& news) { Check(scheduler_->OnNews(news, now_)); }

void SchedulerLab::Hello(int64_t id, int64_t resumed_from_step) {
  AttemptNews news = About(id);
  news.what = HelloNews{resumed_from_step};
  News(news);
}

void SchedulerLab::Checkpointed(int64_t id, int64_t step) {
  AttemptNews news = About(id);
  news.what = CheckpointNews{step, Cat("/checkpoints/", step)};
  News(news);
}

void SchedulerLab::Exit(int64_t id, FailureKind failure, int64_t last_step) {
  AttemptNews news = About(id);
  ExitNews exit;
  exit.failure = failure;
  exit.last_step = last_step;
  exit.wall_s = 10;
  if (failure == FailureKind::kNone) exit.outcome = Outcome::kHealthy;
  news.what = exit;
  News(news);
}

void SchedulerLab::Check(const Effects&) {
  for (const std::string& broken : BrokenInvariants(*scheduler_)) ADD_FAILURE() << broken;
}

}  // namespace normlab::server
