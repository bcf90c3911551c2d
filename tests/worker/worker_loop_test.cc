#include "worker/worker_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "core/random.h"
#include "tests/builders/temp_dir.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_executor.h"
#include "tests/fakes/sim_transport.h"
#include "tests/worker/worker_builders.h"

namespace normlab::worker {
namespace {

// A whole worker but for processes and network, whose time the test moves on until it ends.
class WorkerLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CHECK_OK(PlaceTinyDataset(dir_.File("datasets/kjv"), "kjv", std::string(64, 'a')));
    transport_.on_synchronize = [this](const v1::SynchronizeRequest& request) {
      return Answer(request);
    };
    transport_.on_append = [this](const v1::AppendRequest& request) {
      appended_ = request.first_seq() + request.records_size() - 1;
      v1::AppendReply reply;
      reply.set_acked_seq(appended_);
      return absl::StatusOr<v1::AppendReply>(reply);
    };
  }

  // Wants run 5 for as long as `wanted_`; confirms whatever is finished and was handed over.
  absl::StatusOr<v1::SynchronizeReply> Answer(const v1::SynchronizeRequest& request) {
    if (!refusal_.ok()) return refusal_;
    answered_ = true;
    last_ = request;
    v1::SynchronizeReply reply;
    if (wanted_ && !request.draining()) *reply.add_desired() = Desired(5);
    for (const v1::HeldAttempt& held : request.held()) {
      if (held.state() == v1::HeldAttempt::FINISHED && held.last_seq() == appended_) {
        reply.add_confirmed(held.token());
      }
    }
    reply.set_next_call_in_ms(1000);
    return reply;
  }

  // Runs the worker to its end; `meanwhile` is called while it lives, and after that time moves on
  // unless it stands still. Gives the exit code.
  int Run(
      const std::function<void(WorkerLoop&)>& meanwhile = [](WorkerLoop&) {},
      bool time_stands_still = false) {
    WorkerLoop loop(options_, session_, relay_, slots_, store_, wakes_, clock_);
    loop.SetOwnership([this] { return still_ours_.load(); });
    std::atomic<bool> ended = false;
    int exit_code = -1;
    std::thread worker([&] {
      exit_code = loop.Run();
      ended = true;
    });
    meanwhile(loop);
    while (!time_stands_still && !ended) clock_.Advance(absl::Milliseconds(100));
    worker.join();
    return exit_code;
  }

  absl::Duration Elapsed() const { return clock_.MonotonicNow() - started_; }

  TempDir dir_;
  WorkerOptions options_;
  SimTransport transport_;
  absl::Status refusal_;
  v1::SynchronizeRequest last_;
  std::atomic<bool> wanted_ = false;
  std::atomic<bool> answered_ = false;
  std::atomic<bool> still_ours_ = true;
  std::atomic<uint64_t> appended_ = 0;
  FakeClock clock_;
  const absl::Time started_ = clock_.MonotonicNow();
  std::unique_ptr<RandomSource> random_ = SeededRandom(1);
  WorkerWakes wakes_{clock_};
  AttemptStore store_{dir_.File("attempts"), [this] { wakes_.record.Notify(); }};
  FakeExecutor executor_;
  DatasetCache datasets_{dir_.File("datasets"), transport_};
  Slots slots_{DivideAmongSlots(1, {}, {}),
               DataFolder(dir_.path()),
               executor_,
               datasets_,
               SystemClock(),
               [this] { wakes_.OnAttemptEnded(); }};
  Relay relay_{{.worker = WorkerId("w"), .incarnation = Incarnation("i")}, store_, transport_};
  Session session_{{.worker = WorkerId("w"),
                    .incarnation = Incarnation("i"),
                    .store_id = "s",
                    .hello = {},
                    .resources = {},
                    .local = false},
                   store_,
                   slots_,
                   transport_,
                   clock_,
                   *random_};
};

TEST_F(WorkerLoopTest, GivesUpAfterAMinuteWithoutAServer) {
  transport_.SetPartition(true);
  EXPECT_EQ(Run(), 5);
  EXPECT_GE(Elapsed(), absl::Minutes(1));
}

TEST_F(WorkerLoopTest, RefusalIsAnotherExitCode) {
  refusal_ = absl::UnauthenticatedError("who are you");
  EXPECT_EQ(Run(), 4);
}

TEST_F(WorkerLoopTest, EndsWhenIdleForTooLong) {
  options_.idle_timeout = absl::Minutes(5);
  EXPECT_EQ(Run(), 0);
  EXPECT_GE(Elapsed(), absl::Minutes(5));
}

TEST_F(WorkerLoopTest, LocalWorkerWithoutAServerWaitsTenMinutesForTheNext) {
  options_.local = true;
  EXPECT_EQ(Run([this](WorkerLoop&) {
              while (!answered_) clock_.Advance(absl::Milliseconds(100));
              transport_.SetPartition(true);
            }),
            0);
  EXPECT_GE(Elapsed(), absl::Minutes(10));
}

// Asked to end: the trainer is asked to, its exit reaches the server, and nothing stays on the
// disk.
TEST_F(WorkerLoopTest, HandsEverythingOverBeforeItEnds) {
  wanted_ = true;
  EXPECT_EQ(Run(
                [this](WorkerLoop& loop) {
                  executor_.AwaitRunning(RunId(5));
                  wanted_ = false;
                  loop.AskToStop();
                },
                /*time_stands_still=*/true),
            0);
  EXPECT_TRUE(last_.draining());
  EXPECT_EQ(appended_, 1u);  // the exit record
  EXPECT_THAT(store_.All(), ::testing::IsEmpty());
  EXPECT_THAT(*ListDir(dir_.File("attempts")), ::testing::IsEmpty());
}

// Somebody removed the data folder, and another worker may have a new one by now.
TEST_F(WorkerLoopTest, EndsWhenItsFolderIsNoLongerItsOwn) {
  wanted_ = true;
  still_ours_ = false;
  EXPECT_EQ(Run([](WorkerLoop&) {}, /*time_stands_still=*/true), 4);
}

// With the server away it does not wait for ever; the log stays for the next start.
TEST_F(WorkerLoopTest, KeepsOnDiskWhatItCouldNotHandOver) {
  wanted_ = true;
  EXPECT_EQ(Run([this](WorkerLoop& loop) {
              executor_.AwaitRunning(RunId(5));
              transport_.SetPartition(true);
              loop.AskToStop();
            }),
            0);
  const auto records = RecordsIn(dir_.File("attempts/r5-1-0000000000001005"));
  ASSERT_EQ(Only<ExitRecord>(records).size(), 1u);
  EXPECT_EQ(Only<ExitRecord>(records)[0].reason, "preempted");
}

}  // namespace
}  // namespace normlab::worker
