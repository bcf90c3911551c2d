#include "worker/process_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "tests/builders/temp_dir.h"

namespace normlab::worker {
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

}  // namespace
}  // namespace normlab::worker
