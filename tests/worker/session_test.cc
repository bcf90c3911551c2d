#include "worker/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "core/random.h"
#include "tests/builders/temp_dir.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_executor.h"
#include "tests/fakes/sim_transport.h"
#include "tests/worker/worker_builders.h"

namespace normlab::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One process of a worker: what is lost when it dies. `slots` may be running attempts.
struct Process {
  Process(const std::string& dir, const std::string& incarnation, int slot_count, ServerLink& link,
          Clock& clock, RandomSource& random)
      : store(dir + "/attempts/worker", [] {}),
        datasets(dir + "/datasets", link),
        slots(DivideAmongSlots(slot_count, {}, {}), DataFolder(dir), executor, datasets,
              SystemClock(), [this] { Freed(); }),
        session({.worker = WorkerId("box-worker-1"),
                 .incarnation = Incarnation(incarnation),
                 .store_id = "store-7",
                 .hello = {},
                 .resources = {},
                 .local = false,
                 .wait = absl::Seconds(10),
                 .adopt =
                     [this](AttemptStore&, const std::string& instance) {
                       adopted_for.push_back(instance);
                       return absl::OkStatus();
                     }},
                store, slots, link, clock, random) {}

  void Freed() {
    MutexLock lock(mu);
    ++freed;
    changed.NotifyAll();
  }
  // Waits until `count` attempts have ended since the start.
  void AwaitFreed(int count) {
    MutexLock lock(mu);
    while (freed < count) changed.Wait(mu);
  }

  Mutex mu;
  CondVar changed;
  int freed = 0;
  std::vector<std::string> adopted_for;  // instances, one for each look for leftovers
  AttemptStore store;
  FakeExecutor executor;
  DatasetCache datasets;
  Slots slots;
  Session session;
};

// A server that wants the attempts in `wanted` to run, and confirms what is in `confirmed`.
class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    transport_.on_synchronize = [this](const v1::SynchronizeRequest& request) {
      return Answer(request);
    };
    transport_.on_fetch = [](const std::string&) { return absl::NotFoundError("no such data"); };
    Start("first");
  }

  void Start(const std::string& incarnation, int slots = 2) {
    process_.reset();
    process_ =
        std::make_unique<Process>(dir_.path(), incarnation, slots, transport_, clock_, *random_);
  }

  v1::SynchronizeReply Answer(const v1::SynchronizeRequest& request) {
    requests_.push_back(request);
    v1::SynchronizeReply reply;
    for (const int64_t run : wanted_) {
      v1::DesiredAttempt desired = Desired(run);
      for (const v1::HeldAttempt& held : request.held()) {
        if (held.token() == desired.token()) desired.clear_envelope_json();
      }
      *reply.add_desired() = desired;
    }
    for (const int64_t run : confirmed_) reply.add_confirmed(Identity(run).token.value());
    for (const int64_t run : stopped_) {
      v1::StopAttempt* stop = reply.add_stop();
      stop->set_token(Identity(run).token.value());
      stop->set_reason("cancelled");
    }
    reply.set_next_call_in_ms(1500);
    reply.set_datasets_dir(dir_.File("server-datasets"));
    return reply;
  }

  // The runs that the last request listed in this state.
  std::vector<int64_t> Listed(v1::HeldAttempt::State state) const {
    std::vector<int64_t> runs;
    for (const v1::HeldAttempt& held : requests_.back().held()) {
      if (held.state() == state) runs.push_back(held.run());
    }
    return runs;
  }

  std::vector<std::string> Folders() const {
    auto names = ListDir(dir_.File("attempts/worker"));
    return names.ok() ? *names : std::vector<std::string>();
  }

  Session::Result Step() { return process_->session.Step(); }

  TempDir dir_;
  SimTransport transport_;
  FakeClock clock_;
  std::unique_ptr<RandomSource> random_ = SeededRandom(1);
  std::unique_ptr<Process> process_;
  std::vector<v1::SynchronizeRequest> requests_;
  std::set<int64_t> wanted_;
  std::set<int64_t> confirmed_;
  std::set<int64_t> stopped_;
};

TEST_F(SessionTest, SaysWhoItIs) {
  const Session::Result result = Step();
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.next_call, absl::Milliseconds(1500));
  const v1::SynchronizeRequest& request = requests_.back();
  EXPECT_EQ(request.worker_id(), "box-worker-1");
  EXPECT_EQ(request.incarnation(), "first");
  EXPECT_EQ(request.store_id(), "store-7");
  EXPECT_EQ(request.instance(), "instance-1");
  EXPECT_THAT(request.held(), IsEmpty());
  EXPECT_FALSE(request.draining());
}

// An attempt whose data set is nowhere ends by itself: enough of a life to see it listed, delivered
// and confirmed, with no trainer.
TEST_F(SessionTest, FinishedIsListedUntilConfirmed) {
  wanted_ = {5};
  EXPECT_EQ(Step().next_call, absl::ZeroDuration());  // the server wants to know that it began
  process_->AwaitFreed(1);
  wanted_ = {};
  for (int call = 0; call < 2; ++call) {
    Step();
    EXPECT_THAT(Listed(v1::HeldAttempt::FINISHED), ElementsAre(5));
  }
  const auto exits = Only<ExitRecord>(RecordsIn(process_->store.All()[0]->dir()));
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_EQ(exits[0].reason, "config_error");
  confirmed_ = {5};
  Step();
  Step();
  EXPECT_THAT(requests_.back().held(), IsEmpty());
  EXPECT_THAT(Folders(), IsEmpty());
}

class RunningSessionTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    CHECK_OK(PlaceTinyDataset(dir_.File("datasets/kjv"), "kjv", std::string(64, 'a')));
  }
};

TEST_F(RunningSessionTest, DesiredStartsOnceHoweverOftenItIsSent) {
  wanted_ = {5};
  transport_.Script({Fault::kDropRequest, Fault::kDropReply, Fault::kRepeat});
  EXPECT_FALSE(Step().status.ok());
  EXPECT_FALSE(Step().status.ok());
  EXPECT_THAT(process_->executor.launches(), IsEmpty());
  Step();  // this answer arrives
  process_->executor.AwaitRunning(RunId(5));
  Step();
  Step();
  EXPECT_THAT(Listed(v1::HeldAttempt::RUNNING), ElementsAre(5));
  EXPECT_THAT(process_->executor.launches(), SizeIs(1));
}

TEST_F(RunningSessionTest, FillsInThePaths) {
  wanted_ = {5};
  Step();
  process_->executor.AwaitRunning(RunId(5));
  const Launch launch = process_->executor.launches()[0];
  EXPECT_EQ(launch.envelope.dataset.dir, dir_.File("datasets/kjv"));
  EXPECT_EQ(launch.envelope.checkpoint_dir, dir_.File("checkpoints/r5/1"));
  EXPECT_EQ(launch.envelope.device, "cpu");
  EXPECT_EQ(launch.time_limit, absl::InfiniteDuration());
}

TEST_F(RunningSessionTest, StepOfARunningAttemptIsReported) {
  wanted_ = {5};
  Step();
  process_->executor.Emit(RunId(5), Loss(1));
  process_->executor.Emit(RunId(5), Loss(2));
  Step();
  ASSERT_THAT(requests_.back().held(), SizeIs(1));
  EXPECT_EQ(requests_.back().held(0).last_step(), 2);
  EXPECT_EQ(requests_.back().held(0).last_seq(), 2u);
}

TEST_F(RunningSessionTest, StopReachesTheTrainerWithItsReason) {
  wanted_ = {5, 6};
  Step();
  process_->executor.AwaitRunning(RunId(5));
  wanted_ = {6};
  stopped_ = {5};
  Step();
  process_->AwaitFreed(1);
  Step();
  EXPECT_THAT(Listed(v1::HeldAttempt::FINISHED), ElementsAre(5));
  EXPECT_THAT(Listed(v1::HeldAttempt::RUNNING), ElementsAre(6));
  const auto attempt = process_->store.Find(Identity(5).token);
  EXPECT_EQ(Only<ExitRecord>(RecordsIn(attempt->dir())).at(0).reason, "cancelled");
}

// A confirmation can only mean an attempt that has ended; what runs is never forgotten.
TEST_F(RunningSessionTest, RunningAttemptCannotBeConfirmedAway) {
  wanted_ = {5};
  Step();
  process_->executor.AwaitRunning(RunId(5));
  confirmed_ = {5};
  Step();
  Step();
  EXPECT_THAT(Listed(v1::HeldAttempt::RUNNING), ElementsAre(5));
}

TEST_F(RunningSessionTest, MoreThanTheSlotsWaitsForTheNextCall) {
  Start("first", /*slots=*/1);
  wanted_ = {5, 6};
  EXPECT_EQ(Step().status.code(), absl::StatusCode::kResourceExhausted);
  process_->executor.Finish(RunId(5));
  process_->AwaitFreed(1);
  wanted_ = {6};
  Step();
  process_->executor.AwaitRunning(RunId(6));
  Step();
  EXPECT_THAT(Listed(v1::HeldAttempt::RUNNING), ElementsAre(6));
}

TEST_F(RunningSessionTest, NewIncarnationListsWhatTheOldOneLeft) {
  wanted_ = {5};
  Step();
  process_->executor.Emit(RunId(5), Loss(7));
  const std::string dir = process_->store.All()[0]->dir();
  const std::string log = *ReadFile(dir + "/log");
  Start("second");
  // As after kill -9: the log as it was, without the exit record of an orderly end.
  CHECK_OK(WriteFileDurably(dir + "/log", log));
  wanted_ = {};
  Step();
  EXPECT_EQ(requests_.back().incarnation(), "second");
  ASSERT_THAT(requests_.back().held(), SizeIs(1));
  EXPECT_EQ(requests_.back().held(0).state(), v1::HeldAttempt::FINISHED);
  const auto exits = Only<ExitRecord>(RecordsIn(dir));
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_EQ(exits[0].reason, "lost_worker");
  EXPECT_EQ(exits[0].last_step, 7);
}

TEST_F(RunningSessionTest, AnotherServersDataGetsNoneOfOurAttempts) {
  wanted_ = {5};
  Step();
  process_->executor.AwaitRunning(RunId(5));
  transport_.SetInstance("instance-2");
  EXPECT_FALSE(Step().status.ok());  // first its trainers end
  process_->AwaitFreed(1);
  wanted_ = {};
  EXPECT_TRUE(Step().status.ok());
  EXPECT_EQ(requests_.back().instance(), "instance-2");
  EXPECT_THAT(requests_.back().held(), IsEmpty());
  transport_.SetInstance("instance-1");
  Step();
  EXPECT_THAT(Listed(v1::HeldAttempt::FINISHED), ElementsAre(5));
}

TEST_F(SessionTest, CallsLessAndLessOftenWhileNobodyAnswers) {
  Step();
  const absl::Time answered = clock_.MonotonicNow();
  transport_.SetPartition(true);
  absl::Duration previous;
  for (int call = 0; call < 12; ++call) {
    clock_.Advance(absl::Seconds(1));
    const absl::Duration pause = Step().next_call;
    EXPECT_GE(pause, previous / 2) << "call " << call;
    EXPECT_LE(pause, absl::Seconds(5));
    previous = pause;
  }
  EXPECT_GE(previous, absl::Milliseconds(2500));
  EXPECT_EQ(process_->session.last_contact(), answered);
  transport_.SetPartition(false);
  EXPECT_EQ(Step().next_call, absl::Milliseconds(1500));
  transport_.SetPartition(true);
  EXPECT_LE(Step().next_call, absl::Milliseconds(200));  // from the beginning again
}

TEST_F(SessionTest, DrainingIsSaidAndWaitsForNothing) {
  Step();
  EXPECT_EQ(requests_.back().wait_ms(), 10'000);
  process_->session.Drain();
  Step();
  EXPECT_TRUE(requests_.back().draining());
  EXPECT_EQ(requests_.back().wait_ms(), 0);
}

TEST_F(SessionTest, LooksForLeftoversAtTheStartAndNowAndThen) {
  Step();
  Step();
  EXPECT_THAT(process_->adopted_for, ElementsAre("instance-1"));
  clock_.Advance(absl::Seconds(30));
  Step();
  EXPECT_THAT(process_->adopted_for, ElementsAre("instance-1", "instance-1"));
  transport_.SetInstance("instance-2");
  Step();
  EXPECT_THAT(process_->adopted_for, ElementsAre("instance-1", "instance-1", "instance-2"));
  process_->session.Drain();
  clock_.Advance(absl::Minutes(5));
  Step();
  EXPECT_THAT(process_->adopted_for, SizeIs(3)) << "an ending worker takes on nothing more";
}

}  // namespace
}  // namespace normlab::worker
