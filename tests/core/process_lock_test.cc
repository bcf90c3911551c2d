#include "core/process_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

TEST(ProcessLockTest, OneHolderAtATimeAndItsPidIsTold) {
  TempDir dir;
  auto first = ProcessLock::TryTake(dir.File("LOCK"));
  ASSERT_TRUE(first.ok()) << first.status();
  std::optional<ProcessLock> held(*std::move(first));
  const auto second = ProcessLock::TryTake(dir.File("LOCK"));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()),
              ::testing::EndsWith("process " + std::to_string(::getpid())));
  held.reset();
  EXPECT_TRUE(ProcessLock::TryTake(dir.File("LOCK")).ok());
}

TEST(ProcessLockTest, ARemovedFileIsNoLongerHeld) {
  TempDir dir;
  const std::string path = dir.File("LOCK");
  const auto lock = ProcessLock::TryTake(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(lock->StillHeld());
  CHECK_OK(RemoveAll(path));
  EXPECT_FALSE(lock->StillHeld());
  const auto second = ProcessLock::TryTake(path);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->StillHeld());
  EXPECT_FALSE(lock->StillHeld()) << "the new file is somebody else's";
}

TEST(ProcessLockTest, SignalsOnlyALivingHolder) {
  TempDir dir;
  CHECK_OK(WriteFileDurably(dir.File("LOCK"), std::to_string(::getpid())));  // left behind
  EXPECT_EQ(ProcessLock::SignalHolder(dir.File("LOCK"), SIGKILL).code(),
            absl::StatusCode::kNotFound);
  const auto lock = ProcessLock::TryTake(dir.File("LOCK"));
  ASSERT_TRUE(lock.ok());
  static volatile sig_atomic_t signals = 0;
  const auto before = ::signal(SIGUSR2, [](int) { signals = signals + 1; });
  EXPECT_TRUE(ProcessLock::SignalHolder(dir.File("LOCK"), SIGUSR2).ok());
  ::signal(SIGUSR2, before);
  EXPECT_EQ(signals, 1);
}

}  // namespace
}  // namespace normlab
