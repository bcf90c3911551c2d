// Workers wait at the server for news instead of asking again and again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "core/strings.h"
#include "core/version.h"
#include "nlohmann/json.hpp"
#include "tests/builders/status_matchers.h"
#include "tests/server/dispatch/server_lab.h"

namespace normlab::server {
namespace {

constexpr absl::Duration kWait = absl::Seconds(10);

class WaitingTest : public testing::Test {
 protected:
  static SyncRequest Request(const std::string& name = "w", int slots = 1) {
    SyncRequest request;
    request.worker = WorkerId(name);
    request.incarnation = Incarnation(name + "-1");
    request.versions.protocol = kProtocolVersion;
    request.versions.trainer_math = kTrainerMath;
    request.resources = {"host", slots, 8, int64_t{16} << 30, {}};
    request.store_id = "shared";
    return request;
  }
  static void AddHeld(const DesiredAttempt& attempt, SyncRequest& request) {
    request.held.push_back({attempt.run, attempt.attempt, attempt.token, false, 1, 0});
  }

  // One call on a thread of its own.
  class Call {
   public:
    Call(Dispatcher& dispatcher, SyncRequest request, Patience patience)
        : thread_(
              [this, &dispatcher, request = std::move(request), patience = std::move(patience)] {
                reply_ = dispatcher.Synchronize(request, patience);
              }) {}
    SyncReply Join() {
      thread_.join();
      EXPECT_THAT(reply_, IsOk());
      return reply_.value_or(SyncReply());
    }

   private:
    absl::StatusOr<SyncReply> reply_ = absl::UnknownError("not answered");
    std::thread thread_;
  };
  // A call that waits by now.
  std::unique_ptr<Call> Waiting(const SyncRequest& request, size_t waiters = 1) {
    auto call = std::make_unique<Call>(lab_.dispatcher(), request, Patience{kWait});
    lab_.clock().AwaitWaiters(waiters);
    return call;
  }
  // Submits `placements`.size() runs.
  void Submit(const std::vector<std::string>& placements) {
    lab_.Submit(ServerLab::Spec(placements), Cat("key-", ++submissions_));
  }
  // A worker that holds run 1, which it was just given.
  SyncRequest Busy() {
    Submit({"pre"});
    SyncRequest request = Request();
    AddHeld(lab_.dispatcher().Synchronize(request)->desired.at(0), request);
    return request;
  }
  void End(const HeldReport& held) {
    ExitRecord exit;
    exit.last_step = 1;
    EXPECT_THAT(lab_.ingest().Append({held.token,
                                      held.run,
                                      held.attempt,
                                      1,
                                      {EncodeRecord(HelloRecord{}), EncodeRecord(exit)}}),
                IsOk());
  }

  ServerLab lab_;
  int submissions_ = 0;
};

TEST_F(WaitingTest, ARunIsGivenTheMomentItIsSubmitted) {
  const absl::Time before = lab_.clock().Now();
  const auto call = Waiting(Request());
  Submit({"pre"});
  const SyncReply reply = call->Join();
  ASSERT_EQ(reply.desired.size(), 1u);
  EXPECT_FALSE(reply.desired[0].envelope_json.empty());
  EXPECT_EQ(lab_.clock().Now(), before);
}

TEST_F(WaitingTest, WithoutNewsItEndsInTimeAndMayWaitAgainAtOnce) {
  const auto call = Waiting(Request());
  lab_.clock().Advance(kWait);
  const SyncReply reply = call->Join();
  EXPECT_TRUE(reply.desired.empty());
  EXPECT_EQ(reply.next_call_in_ms, 0);
}

TEST_F(WaitingTest, WhoDoesNotWaitIsAskedToPause) {
  EXPECT_EQ(lab_.dispatcher().Synchronize(Request())->next_call_in_ms, 500);
}

TEST_F(WaitingTest, AStopReachesABusyWorkerAtOnceAndIsNotRepeatedInALoop) {
  const SyncRequest busy = Busy();
  const auto call = Waiting(busy);
  EXPECT_THAT(lab_.dispatcher().Cancel("r1", ""), IsOk());
  const SyncReply reply = call->Join();
  ASSERT_EQ(reply.stop.size(), 1u);
  EXPECT_EQ(reply.stop[0].reason, FailureKind::kCancelled);
  EXPECT_GT(reply.next_call_in_ms, 0) << "the trainer takes its time to end";
}

// The worker's report is older than its exit record; the server knows better.
TEST_F(WaitingTest, AnEndConfirmsTheLogAndBringsTheNextRun) {
  const SyncRequest busy = Busy();
  const auto call = Waiting(busy);
  Submit({"geo"});
  lab_.clock().AwaitWaiters(1);  // no slot is free: it goes on waiting
  End(busy.held[0]);
  const SyncReply reply = call->Join();
  EXPECT_THAT(reply.confirmed, testing::ElementsAre(busy.held[0].token));
  EXPECT_TRUE(reply.stop.empty());
  ASSERT_EQ(reply.desired.size(), 1u);
  EXPECT_EQ(reply.desired[0].run, RunId(2));
}

TEST_F(WaitingTest, ANewerCallEndsTheOlderOne) {
  const auto older = Waiting(Request());
  const auto newer = Waiting(Request(), 1);
  EXPECT_TRUE(older->Join().desired.empty());
  Submit({"pre"});
  EXPECT_EQ(newer->Join().desired.size(), 1u);
}

// A worker was killed while it waited: what comes now is for the living.
TEST_F(WaitingTest, NothingIsGivenToAWorkerThatIsGone) {
  std::atomic<bool> gone = false;
  Call call(lab_.dispatcher(), Request("dead"), {kWait, [&gone] { return gone.load(); }});
  lab_.clock().AwaitWaiters(1);
  gone = true;
  Submit({"pre"});
  EXPECT_TRUE(call.Join().desired.empty());
  EXPECT_EQ(lab_.dispatcher().Synchronize(Request("alive"))->desired.size(), 1u);
}

TEST_F(WaitingTest, EveryOneOfManyWorkersGetsItsRun) {
  std::vector<std::unique_ptr<Call>> calls;
  for (size_t i = 1; i <= 8; ++i) calls.push_back(Waiting(Request(Cat("w", i)), i));
  Submit({"pre", "post", "peri", "deep", "geo"});
  Submit({"sandwich"});  // linked: peri is the same
  lab_.clock().AwaitWaiters(3);
  lab_.clock().Advance(kWait);
  size_t given = 0;
  for (const auto& call : calls) given += call->Join().desired.size();
  EXPECT_EQ(given, 5u);
}

TEST_F(WaitingTest, AServerThatEndsLetsEverybodyGo) {
  const auto call = Waiting(Request());
  lab_.dispatcher().EndWaits();
  EXPECT_GT(call->Join().next_call_in_ms, 0);
  EXPECT_GT(lab_.dispatcher().Synchronize(Request(), {kWait})->next_call_in_ms, 0);
}

}  // namespace
}  // namespace normlab::server
