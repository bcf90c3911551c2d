#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/strings.h"
#include "tests/builders/status_matchers.h"
#include "tests/server/dispatch/server_lab.h"

namespace normlab::server {
namespace {

constexpr int64_t kSteps = 60;

std::string SmallSpec(int seeds) {
  return ServerLab::Spec({"pre", "geo"}, seeds, "{data: {name: kjv}, train: {steps: 60}}");
}

// Every run done once, its series whole: each step once, with the value that an uninterrupted run
// would have.
void ExpectAllWhole(ServerLab& lab, int64_t runs) {
  EXPECT_EQ(lab.Number("SELECT count(*) FROM run_v WHERE state = 'done' AND outcome = 'healthy'"),
            runs);
  EXPECT_EQ(lab.Number("SELECT count(*) FROM transition WHERE state = 'done'"), runs);
  for (int64_t run = 1; run <= runs; ++run) {
    const std::string series = Cat("scalar('r", run, "','train_loss')");
    EXPECT_EQ(lab.Number("SELECT count(*) FROM " + series), kSteps) << run;
    EXPECT_EQ(lab.Number("SELECT count(DISTINCT step) FROM " + series), kSteps) << run;
    EXPECT_EQ(lab.Number("SELECT max(step) FROM " + series), kSteps) << run;
    for (const int64_t step : {int64_t{1}, int64_t{30}, kSteps}) {
      EXPECT_EQ(
          std::get<double>(lab.Ask(Cat("SELECT value FROM ", series, " WHERE step = ", step))),
          LabWorker::Loss(run, step))
          << run << " " << step;
    }
    EXPECT_EQ(lab.Number(Cat("SELECT step FROM run_v WHERE run = 'r", run, "'")), kSteps);
  }
}

TEST(Restart, OneRunFromSubmissionToDone) {
  ServerLab lab;
  lab.Submit(SmallSpec(1), "key");
  LabWorker worker(lab, "w", 2);
  ASSERT_TRUE(worker.Call());
  EXPECT_EQ(lab.Number("SELECT count(*) FROM run_v WHERE state = 'running'"), 2);
  worker.Train(30, kSteps);
  ASSERT_TRUE(worker.Send(1000));
  EXPECT_EQ(lab.Number("SELECT step FROM run_v WHERE run = 'r1'"), 30);
  // Killed; comes back long before the worker has noticed. No attempt is lost.
  lab.Restart();
  ASSERT_TRUE(worker.Call());
  worker.Train(30, kSteps);
  ASSERT_TRUE(worker.Send(1000));
  ASSERT_TRUE(worker.Call());
  EXPECT_TRUE(worker.idle());
  EXPECT_EQ(lab.Number("SELECT count(*) FROM attempt_v"), 2);
  ExpectAllWhole(lab, 2);
}

TEST(Restart, ExtendsEveryLeaseByAFullTerm) {
  ServerLab lab;
  lab.Submit(SmallSpec(1), "key");
  LabWorker worker(lab, "w", 2);
  worker.Call();
  lab.clock().Advance(absl::Seconds(100));
  lab.Restart();
  lab.clock().Advance(absl::Seconds(100));
  ASSERT_TRUE(lab.dispatcher().Tick().ok());
  EXPECT_EQ(lab.Number("SELECT count(*) FROM attempt_v WHERE state = 'running'"), 2);
  lab.clock().Advance(absl::Seconds(20));
  ASSERT_TRUE(lab.dispatcher().Tick().ok());
  EXPECT_EQ(lab.Number("SELECT count(*) FROM attempt_v WHERE state = 'running'"), 0);
  EXPECT_EQ(lab.Text("SELECT state FROM worker_v"), "lost");
}

TEST(Restart, ACrashedWorkerGoesOnFromItsCheckpoint) {
  ServerLab lab;
  lab.Submit(SmallSpec(1), "key");
  LabWorker worker(lab, "w", 2);
  worker.Call();
  worker.Train(37, kSteps);
  worker.Send(20);  // the rest of the log arrives only after the crash
  worker.Crash();
  worker.Call();
  worker.Send(1000);
  worker.Call();  // what is lost is confirmed, what is to go on is sent
  EXPECT_EQ(lab.Number("SELECT start_step FROM attempt_v WHERE run = 'r1' AND attempt = 2"), 30);
  EXPECT_EQ(lab.Number("SELECT parent FROM attempt_v WHERE run = 'r1' AND attempt = 2"), 1);
  worker.Train(60, kSteps);
  worker.Send(1000);
  worker.Call();
  ExpectAllWhole(lab, 2);
  EXPECT_EQ(lab.Number("SELECT sum(attempt) FROM scalar('r1','train_loss')"), 30 * 1 + 30 * 2);
}

// What the newest attempt left is damaged, and the trainer takes up the line before it: no step
// counts twice.
TEST(Restart, AnAncestorsCheckpointServes) {
  ServerLab lab;
  lab.Submit(SmallSpec(1), "key");
  LabWorker worker(lab, "w", 2);
  worker.Call();
  for (const int steps : {27, 15}) {  // to step 27, and from 20 to 35
    worker.Train(steps, kSteps);
    worker.Send(1000);
    worker.Crash();
    worker.Call();
    worker.Send(1000);
    if (steps == 15) worker.LoseCheckpointsOfParents();
    worker.Call();
  }
  worker.Send(1000);
  const char* const third = "FROM attempt_v WHERE run = 'r1' AND attempt = 3";
  EXPECT_EQ(lab.Number(Cat("SELECT start_step ", third)), 10);
  EXPECT_EQ(lab.Number(Cat("SELECT parent ", third)), 1);
  lab.Restart();
  worker.Call();
  worker.Train(60, kSteps);
  worker.Send(1000);
  worker.Call();
  ExpectAllWhole(lab, 2);
  EXPECT_EQ(lab.Number("SELECT sum(attempt) FROM scalar('r1','train_loss')"), 10 * 1 + 50 * 3);
}

// Servers and workers die at random between any two calls; nothing is lost or counted twice.
TEST(Restart, RandomKills) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(Cat("seed ", seed));
    ServerLab lab(seed);
    const auto random = SeededRandom(seed * 977);
    lab.Submit(SmallSpec(2), "key");
    std::vector<std::unique_ptr<LabWorker>> workers;
    for (const char* name : {"a", "b"}) workers.push_back(std::make_unique<LabWorker>(lab, name));
    for (int i = 0; i < 150; ++i) {
      LabWorker& worker = *workers[random->Next() % 2];
      switch (random->Next() % 8) {
        case 0:
          lab.Restart();
          break;
        case 1:
          if (random->Next() % 4 == 0) worker.Crash();
          break;
        case 2:
          lab.clock().Advance(absl::Seconds(static_cast<int64_t>(random->Next() % 50)));
          break;
        case 3:
        case 4:
          worker.Train(static_cast<int>(random->Next() % 15), kSteps);
          break;
        case 5:
          worker.Send(static_cast<int>(random->Next() % 20));
          break;
        default:
          ASSERT_TRUE(worker.Call());
      }
    }
    for (int i = 0; i < 60; ++i) {
      for (const auto& worker : workers) {
        ASSERT_TRUE(worker->Call());
        worker->Train(60, kSteps);
        ASSERT_TRUE(worker->Send(1000));
      }
      lab.clock().Advance(absl::Seconds(5));
    }
    ExpectAllWhole(lab, 4);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace normlab::server
