#include "server/scheduler/run_queue.h"

#include <gtest/gtest.h>

namespace normlab::server {
namespace {

bool Anything(const Demand&) { return true; }

TEST(RunQueue, HighestPriorityThenOldestAcrossClasses) {
  RunQueue queue;
  queue.Add(RunId(1), Demand{0, 1, 0}, 0);
  queue.Add(RunId(2), Demand{1, 1, 0}, 5);
  queue.Add(RunId(3), Demand{0, 1, 0}, 5);
  const auto all = [](RunId) { return true; };
  EXPECT_EQ(queue.Pick(Anything, all), RunId(2));
  queue.SetPriority(RunId(1), 9);
  EXPECT_EQ(queue.Pick(Anything, all), RunId(1));
  EXPECT_TRUE(queue.Remove(RunId(1)));
  EXPECT_FALSE(queue.Remove(RunId(1)));
  EXPECT_EQ(queue.Pick([](const Demand& demand) { return demand.gpus == 0; }, all), RunId(3));
}

TEST(RunQueue, PassesOverWhatIsNotAccepted) {
  RunQueue queue;
  for (int i = 1; i <= 5; ++i) queue.Add(RunId(i), Demand{}, 0);
  EXPECT_EQ(queue.Pick(Anything, [](RunId run) { return run.value() == 4; }), RunId(4));
  EXPECT_EQ(queue.Pick(Anything, [](RunId) { return false; }), std::nullopt);
}

TEST(RunQueue, LooksAtABoundedNumber) {
  RunQueue queue;
  for (int i = 1; i <= 10000; ++i) queue.Add(RunId(i), Demand{}, 0);
  int looked_at = 0;
  const auto refuse = [&looked_at](RunId) {
    ++looked_at;
    return false;
  };
  EXPECT_EQ(queue.Pick(Anything, refuse), std::nullopt);
  EXPECT_EQ(looked_at, RunQueue::kLookAhead);
}

}  // namespace
}  // namespace normlab::server
