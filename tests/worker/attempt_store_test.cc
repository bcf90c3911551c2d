#include "worker/attempt_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/builders/temp_dir.h"
#include "tests/worker/worker_builders.h"

namespace normlab::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AttemptStoreTest : public ::testing::Test {
 protected:
  AttemptStore Open() {
    return AttemptStore(dir_.File("attempts"), [this] { ++records_; });
  }
  std::vector<std::string> Folders() { return *ListDir(dir_.File("attempts")); }

  TempDir dir_;
  int records_ = 0;
};

TEST_F(AttemptStoreTest, HoldsWhatItMade) {
  AttemptStore store = Open();
  const auto attempt = store.Create(Identity(5), "here");
  ASSERT_TRUE(attempt.ok()) << attempt.status();
  EXPECT_THAT(Folders(), ElementsAre("r5-1-0000000000001005"));
  EXPECT_EQ(store.Find(Identity(5).token), *attempt);
  EXPECT_EQ(store.Find(Identity(6).token), nullptr);
  EXPECT_EQ(store.Create(Identity(5), "here").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ((*attempt)->acked(), 0u);  // a new log: the server can have nothing of it
}

TEST_F(AttemptStoreTest, EveryRecordIsAnnounced) {
  AttemptStore store = Open();
  const auto attempt = *store.Create(Identity(5), "here");
  CHECK_OK(attempt->Append(Loss(1)));
  CHECK_OK(attempt->Append(Loss(2)));
  EXPECT_EQ(records_, 2);
}

TEST_F(AttemptStoreTest, NothingComesAfterTheExit) {
  AttemptStore store = Open();
  const auto attempt = *store.Create(Identity(5), "here");
  CHECK_OK(attempt->Append(ExitRecord{}));
  EXPECT_EQ(attempt->Append(Loss(1)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(attempt->Append("no record").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(attempt->progress().last_seq, 1u);
}

TEST_F(AttemptStoreTest, RecoverClosesOpenLogsAndKeepsClosedOnes) {
  {
    AttemptStore store = Open();
    const auto running = *store.Create(Identity(5), "here");
    CHECK_OK(running->Append(Loss(1)));
    CHECK_OK(running->Append(Loss(2)));
    const auto finished = *store.Create(Identity(6), "here");
    ExitRecord exit;
    exit.exit_code = 3;
    CHECK_OK(finished->Append(exit));
  }
  AttemptStore store = Open();
  ASSERT_TRUE(store.Recover("here").ok());
  ASSERT_THAT(store.All(), SizeIs(2));
  const auto lost = store.Find(Identity(5).token);
  EXPECT_TRUE(lost->progress().finished);
  EXPECT_EQ(lost->progress().last_step, 2);
  EXPECT_EQ(lost->acked(), std::nullopt);  // only the server knows
  EXPECT_EQ(Only<ExitRecord>(RecordsIn(lost->dir())).at(0).reason, "lost_worker");
  const auto finished = Only<ExitRecord>(RecordsIn(store.Find(Identity(6).token)->dir()));
  ASSERT_THAT(finished, SizeIs(1));
  EXPECT_EQ(finished[0].exit_code, 3);
}

TEST_F(AttemptStoreTest, RecoverGoesOnAfterATornTail) {
  std::string dir;
  {
    AttemptStore store = Open();
    const auto running = *store.Create(Identity(5), "here");
    CHECK_OK(running->Append(Loss(1)));
    dir = running->dir();
  }
  const std::string log = *ReadFile(JoinPath(dir, "log"));
  CHECK_OK(WriteFileDurably(JoinPath(dir, "log"), log + "torn"));
  AttemptStore store = Open();
  ASSERT_TRUE(store.Recover("here").ok());
  EXPECT_THAT(RecordsIn(dir), SizeIs(2));  // the step and the exit
  EXPECT_EQ(*ReadFile(JoinPath(dir, "log.bad")), "torn");
}

TEST_F(AttemptStoreTest, AttemptsOfOtherServersStayUntouched) {
  {
    AttemptStore store = Open();
    CHECK_OK((*store.Create(Identity(5), "there"))->Append(Loss(1)));
  }
  AttemptStore store = Open();
  ASSERT_TRUE(store.Recover("here").ok());
  EXPECT_THAT(store.All(), IsEmpty());
  ASSERT_TRUE(store.Recover("there").ok());
  EXPECT_THAT(store.All(), SizeIs(1));
}

// The file `instance` is written first and removed first: without it, nobody was told of the
// attempt or everybody is done with it.
TEST_F(AttemptStoreTest, HalfMadeAndHalfRemovedFoldersGo) {
  const std::string dir = dir_.File("attempts/r5-1-0000000000001005");
  CHECK_OK(MakeDirs(dir));
  CHECK_OK(WriteFileDurably(JoinPath(dir, "log"), "anything"));
  CHECK_OK(MakeDirs(dir_.File("attempts/not-an-attempt")));
  AttemptStore store = Open();
  ASSERT_TRUE(store.Recover("here").ok());
  EXPECT_THAT(store.All(), IsEmpty());
  EXPECT_THAT(Folders(), ElementsAre("not-an-attempt"));
}

TEST_F(AttemptStoreTest, RemovedIsGoneFromTheDisk) {
  AttemptStore store = Open();
  const auto attempt = *store.Create(Identity(5), "here");
  CHECK_OK(attempt->Append(ExitRecord{}));
  EXPECT_TRUE(store.Remove(Identity(5).token).ok());
  EXPECT_TRUE(store.Remove(Identity(5).token).ok());
  EXPECT_THAT(store.All(), IsEmpty());
  EXPECT_THAT(Folders(), IsEmpty());
}

}  // namespace
}  // namespace normlab::worker
