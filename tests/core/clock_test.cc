#include "core/clock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/fakes/fake_clock.h"

namespace normlab {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

TEST(SystemClock, MovesForwardAndFormats) {
  Clock& clock = SystemClock();
  const absl::Time before = clock.MonotonicNow();
  EXPECT_GE(clock.MonotonicNow(), before);
  EXPECT_EQ(FormatUtc(absl::FromUnixMillis(1767225600123)), "2026-01-01T00:00:00.123Z");
}

TEST(SystemClock, WaitEndsByPredicateAndByDeadline) {
  Clock& clock = SystemClock();
  Mutex mu;
  CondVar cond;
  bool ready = false;
  MutexLock lock(mu);
  // A deadline in the past: no waiting at all.
  EXPECT_FALSE(clock.WaitUntil(clock.MonotonicNow(), mu, cond, [&] { return ready; }));
  std::thread other([&] {
    MutexLock inner(mu);
    ready = true;
    cond.NotifyAll();
  });
  EXPECT_TRUE(clock.WaitUntil(absl::InfiniteFuture(), mu, cond, [&] { return ready; }));
  mu.Unlock();
  other.join();
  mu.Lock();
}

TEST(FakeClock, StandsStillUntilAdvanced) {
  FakeClock clock;
  const absl::Time wall = clock.Now();
  const absl::Time mono = clock.MonotonicNow();
  EXPECT_EQ(clock.Now(), wall);
  clock.Advance(kSecond);
  EXPECT_EQ(clock.Now() - wall, kSecond);
  EXPECT_EQ(clock.MonotonicNow() - mono, kSecond);
}

TEST(FakeClock, FiresDueWaitsInOrderBeforeAdvanceReturns) {
  FakeClock clock;
  const absl::Time start = clock.MonotonicNow();
  Mutex mu;
  CondVar cond;
  std::vector<int> fired;
  std::vector<std::thread> threads;
  // Started one after the other, so that the order of arrival is known; the last one is not due.
  const std::vector<int> seconds = {3, 1, 2, 2, 9};
  for (size_t i = 0; i < seconds.size(); ++i) {
    threads.emplace_back([&, i] {
      MutexLock lock(mu);
      clock.WaitUntil(start + seconds[i] * kSecond, mu, cond, [] { return false; });
      fired.push_back(static_cast<int>(i));
    });
    clock.AwaitWaiters(i + 1);
  }
  clock.Advance(5 * kSecond);
  {
    MutexLock lock(mu);
    EXPECT_EQ(fired.size(), 4u);
  }
  clock.Advance(5 * kSecond);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fired.front(), 1);
  EXPECT_EQ(fired[3], 0);
  EXPECT_EQ(fired.back(), 4);
}

TEST(FakeClock, APredicateEndsAWaitWithoutTime) {
  FakeClock clock;
  Mutex mu;
  CondVar cond;
  bool ready = false;
  bool result = false;
  std::thread waiter([&] {
    MutexLock lock(mu);
    result = clock.WaitUntil(absl::InfiniteFuture(), mu, cond, [&] { return ready; });
  });
  clock.AwaitWaiters(1);
  {
    MutexLock lock(mu);
    ready = true;
    cond.NotifyAll();
  }
  waiter.join();
  EXPECT_TRUE(result);
}

}  // namespace
}  // namespace normlab
