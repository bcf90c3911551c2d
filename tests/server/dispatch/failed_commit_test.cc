#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/version.h"
#include "tests/builders/status_matchers.h"
#include "tests/fakes/failing_run_store.h"
#include "tests/server/dispatch/server_lab.h"

namespace normlab::server {
namespace {

SyncRequest ARequest() {
  SyncRequest request;
  request.worker = WorkerId("w");
  request.incarnation = Incarnation("i");
  request.versions.protocol = kProtocolVersion;
  request.versions.trainer_math = kTrainerMath;
  request.resources = {"host", 1, 8, int64_t{16} << 30, {}};
  return request;
}

// What was not committed is not answered, and memory that is ahead of the disk answers nothing.
TEST(FailedCommit, RefusesEverythingUntilARestart) {
  ServerLab lab;
  lab.Submit(ServerLab::Spec({"pre"}), "key");
  FailingRunStore store(lab.store().runs());
  const auto random = SeededRandom(1);
  const auto dispatcher = *Dispatcher::Open(DispatcherOptions(), store, lab.clock(), *random);
  store.FailCommits(true);
  EXPECT_THAT(dispatcher->Synchronize(ARequest()),
              IsStatusWith(absl::StatusCode::kResourceExhausted, "the disk is full"));
  store.FailCommits(false);
  EXPECT_THAT(dispatcher->Synchronize(ARequest()),
              IsStatusWith(absl::StatusCode::kUnavailable, "restart it"));
  EXPECT_THAT(dispatcher->Health(), IsStatusWith(absl::StatusCode::kUnavailable, "disk is full"));
  EXPECT_TRUE(absl::IsUnavailable(dispatcher->Tick()));
  EXPECT_EQ(lab.Number("SELECT count(*) FROM attempt"), 0);
  const auto again = *Dispatcher::Open(DispatcherOptions(), store, lab.clock(), *random);
  const auto reply = again->Synchronize(ARequest());
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->desired.size(), 1u);
}

TEST(FailedCommit, AnotherProtocolIsRefused) {
  ServerLab lab;
  SyncRequest request = ARequest();
  request.versions.protocol = kProtocolVersion + 1;
  EXPECT_THAT(lab.dispatcher().Synchronize(request),
              IsStatusWith(absl::StatusCode::kFailedPrecondition, "speaks protocol"));
}

}  // namespace
}  // namespace normlab::server
