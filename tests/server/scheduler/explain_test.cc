#include "server/scheduler/explain.h"

#include <gtest/gtest.h>

#include "core/version.h"

namespace normlab::server {
namespace {

WorkerFacts WorkerWith(int gpus, int64_t cpus, int busy = 0) {
  WorkerFacts worker;
  worker.id = "w";
  worker.connected = true;
  worker.versions.trainer_math = kTrainerMath;
  worker.resources.slots = 1;
  worker.resources.cpus = cpus;
  worker.resources.memory_bytes = int64_t{4} << 30;
  worker.resources.gpus.resize(gpus);
  worker.busy = busy;
  return worker;
}

TEST(Explain, SaysWhatNoWorkerHas) {
  const Demand two_gpus{2, 1, 0};
  EXPECT_EQ(WhyNowhere(two_gpus, {WorkerWith(0, 2)}, kTrainerMath),
            "needs 2 GPUs; no connected worker has 2");
  EXPECT_EQ(DemandWarning(two_gpus, {WorkerWith(1, 2)}, kTrainerMath),
            "needs 2 GPUs per run; no connected worker has 2");
  EXPECT_EQ(WhyNowhere(two_gpus, {WorkerWith(2, 2)}, kTrainerMath), "");
  EXPECT_EQ(WhyNowhere(Demand{0, 8, 0}, {WorkerWith(0, 2)}, kTrainerMath),
            "needs 8 CPUs; no connected worker has 8");
  EXPECT_EQ(WhyNowhere(Demand{0, 1, int64_t{8} << 30}, {WorkerWith(0, 2)}, kTrainerMath),
            "needs 8 GiB of memory; no connected worker has as much");
  EXPECT_EQ(WhyNowhere(Demand{}, {}, kTrainerMath), "no worker is connected");
}

TEST(Explain, SaysWhoseTrainerDoesNotFit) {
  WorkerFacts old = WorkerWith(0, 2);
  old.versions.trainer_math = kTrainerMath + 1;
  const std::string why = WhyNowhere(Demand{}, {old}, kTrainerMath);
  EXPECT_NE(why.find("trainer_math 2, this server's is 1"), std::string::npos) << why;
  WorkerFacts broken = WorkerWith(0, 2);
  broken.versions.trainer_error = "libtorch.so is missing";
  const std::string broken_why = WhyNowhere(Demand{}, {broken}, kTrainerMath);
  EXPECT_NE(broken_why.find("libtorch.so is missing"), std::string::npos) << broken_why;
}

TEST(Explain, OneSentencePerState) {
  RunFacts run;
  EXPECT_EQ(ExplainRun(run, {WorkerWith(0, 2, 1)}, kTrainerMath), "waits for a free slot");
  EXPECT_EQ(ExplainRun(run, {WorkerWith(0, 2)}, kTrainerMath),
            "starts at the next call of a worker");
  run.state = RunState::kFailed;
  run.reason = "code_error";
  run.failures = 3;
  run.budget_failures = 2;
  EXPECT_EQ(ExplainRun(run, {}, kTrainerMath), "failed: code_error 3 times, its budget allows 2");
  run.state = RunState::kDone;
  run.stopped_by = "nonfinite";
  EXPECT_EQ(ExplainRun(run, {}, kTrainerMath), "done: stopped by the rule nonfinite");
}

}  // namespace
}  // namespace normlab::server
