#include "worker/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "core/process_lock.h"
#include "tests/builders/temp_dir.h"
#include "tests/worker/worker_builders.h"

namespace normlab::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two workers, "old" and "new", on one data folder.
class LeftoversTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CHECK_OK(MakeDirs(dir_.File("attempts/old")));
    old_lock_ = *ProcessLock::TryTake(dir_.File("attempts/old/LOCK"));
    CHECK_OK(WriteFileDurably(dir_.File("attempts/old/worker_id"), "box-old-1"));
    CHECK_OK(store_.Recover("here"));
  }

  // An attempt of `old`, of which one step is in the log.
  void LeaveBehind(int64_t run, const std::string& instance = "here") {
    AttemptStore old(dir_.File("attempts/old"), [] {});
    CHECK_OK((*old.Create(Identity(run), instance))->Append(Loss(1)));
  }
  absl::Status TakeOver() {
    return TakeOverLeftovers(dir_.File("attempts"), "new", store_, "here");
  }

  TempDir dir_;
  std::optional<ProcessLock> old_lock_;
  AttemptStore store_{dir_.File("attempts/new"), [] {}};
};

TEST_F(LeftoversTest, OfALivingWorkerStayItsOwn) {
  LeaveBehind(5);
  ASSERT_TRUE(TakeOver().ok());
  EXPECT_THAT(store_.All(), IsEmpty());
  EXPECT_TRUE(IsDir(dir_.File("attempts/old/r5-1-0000000000001005")));
}

TEST_F(LeftoversTest, OfADeadOneAreClosedAndHeld) {
  LeaveBehind(5);
  LeaveBehind(6);
  old_lock_.reset();
  ASSERT_TRUE(TakeOver().ok());
  ASSERT_THAT(store_.All(), SizeIs(2));
  const auto attempt = store_.Find(Identity(5).token);
  EXPECT_EQ(attempt->dir(), dir_.File("attempts/new/r5-1-0000000000001005"));
  EXPECT_TRUE(attempt->progress().finished);
  EXPECT_EQ(attempt->acked(), std::nullopt) << "the server is asked first";
  const auto records = RecordsIn(attempt->dir());
  EXPECT_THAT(Only<ScalarsRecord>(records), SizeIs(1));
  EXPECT_EQ(Only<ExitRecord>(records).at(0).reason, "lost_worker");
  EXPECT_THAT(*ListDir(dir_.File("attempts/old")), ElementsAre("LOCK", "worker_id"));
  // Its name is free again, and there is nothing left for it to send.
  EXPECT_TRUE(ProcessLock::TryTake(dir_.File("attempts/old/LOCK")).ok());
  ASSERT_TRUE(TakeOver().ok());
  EXPECT_THAT(store_.All(), SizeIs(2));
}

TEST_F(LeftoversTest, OfAnotherServerStayWhereTheyAre) {
  LeaveBehind(5, "there");
  old_lock_.reset();
  ASSERT_TRUE(TakeOver().ok());
  EXPECT_THAT(store_.All(), IsEmpty());
  EXPECT_TRUE(IsDir(dir_.File("attempts/old/r5-1-0000000000001005")));
}

TEST_F(LeftoversTest, FoldersThatAreNoWorkersAreLeftAlone) {
  CHECK_OK(MakeDirs(dir_.File("attempts/notes/r5-1-0000000000001005")));
  ASSERT_TRUE(TakeOver().ok());
  EXPECT_THAT(*ListDir(dir_.File("attempts/notes")), ElementsAre("r5-1-0000000000001005"));
}

}  // namespace
}  // namespace normlab::worker
