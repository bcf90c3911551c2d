#include "worker/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/builders/temp_dir.h"
#include "tests/fakes/fake_executor.h"
#include "tests/fakes/sim_transport.h"
#include "tests/worker/worker_builders.h"

namespace normlab::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DivideAmongSlotsTest, CoresByTheNumberOfSlots) {
  struct Case {
    int slots;
    std::vector<int> cpus;
    std::vector<int> threads;
    std::vector<std::vector<int>> sets;
  };
  const std::vector<Case> cases = {
      {1, {0, 1}, {2}, {{0, 1}}},
      {2, {4, 5, 6, 7}, {2, 2}, {{4, 5}, {6, 7}}},
      {2, {0, 1, 2}, {1, 1}, {{0}, {1}}},
      {3, {0, 1}, {1, 1, 1}, {{}, {}, {}}},  // not enough for cores of their own
  };
  for (const Case& each : cases) {
    const auto slots = DivideAmongSlots(each.slots, each.cpus, {});
    ASSERT_EQ(slots.size(), each.threads.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      EXPECT_EQ(slots[i].threads, each.threads[i]);
      EXPECT_EQ(slots[i].cpus, each.sets[i]);
      EXPECT_EQ(slots[i].gpu, "");
    }
  }
}

TEST(DivideAmongSlotsTest, GpusInTurn) {
  const auto slots = DivideAmongSlots(4, {}, {"0", "3"});
  EXPECT_EQ(slots[0].gpu, "0");
  EXPECT_EQ(slots[1].gpu, "3");
  EXPECT_EQ(slots[2].gpu, "0");
}

class SlotsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CHECK_OK(PlaceTinyDataset(dir_.File("datasets/kjv"), "kjv", std::string(64, 'a')));
    CHECK_OK(store_.Recover("here"));
  }

  // Starts run `run` and, once the trainer is there, lets it end; gives back what it was started
  // with.
  Launch LaunchOf(int64_t run, const Envelope& envelope, const std::string& resume_dir = "") {
    Assignment assignment;
    assignment.envelope_json = DumpStrict(ToJson(envelope));
    assignment.resume_dir = resume_dir;
    CHECK_OK(slots_.Start(*store_.Create(Identity(run), "here"), assignment));
    executor_.AwaitRunning(RunId(run));
    executor_.Finish(RunId(run));
    AwaitIdle();
    return executor_.launches().back();
  }

  ExitRecord ExitOf(int64_t run) {
    return Only<ExitRecord>(RecordsIn(store_.Find(Identity(run).token)->dir())).at(0);
  }

  void AwaitIdle() {
    MutexLock lock(mu_);
    while (slots_.busy() > 0) changed_.Wait(mu_);
  }

  TempDir dir_;
  Mutex mu_;
  CondVar changed_;
  SimTransport transport_;
  AttemptStore store_{dir_.File("attempts"), [] {}};
  FakeExecutor executor_;
  DatasetCache datasets_{dir_.File("datasets"), transport_};
  Slots slots_{DivideAmongSlots(1, {}, {}),
               DataFolder(dir_.path()),
               executor_,
               datasets_,
               SystemClock(),
               [this] {
                 MutexLock lock(mu_);
                 changed_.NotifyAll();
               }};
};

TEST_F(SlotsTest, ResumesFromTheRegisteredPlaceOrItsOwnOrNotAtAll) {
  Envelope envelope = EnvelopeFor(5);
  envelope.resume = Envelope::Resume{"", 40, AttemptNumber(2), {{AttemptNumber(1), 30}}};
  const std::string registered = dir_.File("elsewhere/r/2/40");
  EXPECT_EQ(LaunchOf(5, envelope, registered).envelope.resume, std::nullopt);

  CHECK_OK(MakeDirs(dir_.File("checkpoints/r6/2/40")));
  envelope.run = RunId(6);
  EXPECT_EQ(LaunchOf(6, envelope, registered).envelope.resume->dir,
            dir_.File("checkpoints/r6/2/40"));

  CHECK_OK(MakeDirs(registered));
  envelope.run = RunId(7);
  const Launch launch = LaunchOf(7, envelope, registered);
  EXPECT_EQ(launch.envelope.resume->dir, registered);
  EXPECT_EQ(launch.envelope.resume->step, 40);
  EXPECT_EQ(launch.envelope.resume->ancestors, envelope.resume->ancestors);
}

// The checkpoint is gone, an older one of the run may be there: the trainer looks beside it.
TEST_F(SlotsTest, ALostCheckpointIsLookedForWhereTheRunsOthersAre) {
  Envelope envelope = EnvelopeFor(8);
  envelope.resume = Envelope::Resume{"", 40, AttemptNumber(2), {{AttemptNumber(1), 30}}};
  const std::string registered = dir_.File("elsewhere/r/2/40");
  CHECK_OK(MakeDirs(dir_.File("checkpoints/r8/1/30")));
  EXPECT_EQ(LaunchOf(8, envelope, registered).envelope.resume->dir,
            dir_.File("checkpoints/r8/2/40"));
  CHECK_OK(MakeDirs(dir_.File("elsewhere/r/1/30")));
  envelope.run = RunId(9);
  EXPECT_EQ(LaunchOf(9, envelope, registered).envelope.resume->dir, registered);
}

TEST_F(SlotsTest, ExitRecordClosesTheLogAndFreesTheSlot) {
  LaunchOf(5, EnvelopeFor(5));
  EXPECT_EQ(slots_.busy(), 0);
  EXPECT_TRUE(store_.Find(Identity(5).token)->progress().finished);
  EXPECT_EQ(ExitOf(5).exit_code, 0);
}

TEST_F(SlotsTest, BusyRefuses) {
  Assignment assignment;
  assignment.envelope_json = DumpStrict(ToJson(EnvelopeFor(5)));
  CHECK_OK(slots_.Start(*store_.Create(Identity(5), "here"), assignment));
  executor_.AwaitRunning(RunId(5));
  EXPECT_EQ(slots_.Start(*store_.Create(Identity(6), "here"), assignment).code(),
            absl::StatusCode::kResourceExhausted);
  slots_.StopAll(FailureKind::kPreempted);
  AwaitIdle();
  EXPECT_EQ(ExitOf(5).reason, "preempted");
}

TEST_F(SlotsTest, BadEnvelopeIsAConfigErrorWithItsMessage) {
  Assignment assignment;
  assignment.envelope_json = "{}";
  CHECK_OK(slots_.Start(*store_.Create(Identity(5), "here"), assignment));
  AwaitIdle();
  EXPECT_EQ(ExitOf(5).reason, "config_error");
  EXPECT_THAT(executor_.launches(), IsEmpty());
}

TEST_F(SlotsTest, MissingDataSetIsAConfigErrorWithItsMessage) {
  Assignment assignment;
  assignment.envelope_json = DumpStrict(ToJson(EnvelopeFor(5, "nowhere")));
  CHECK_OK(slots_.Start(*store_.Create(Identity(5), "here"), assignment));
  AwaitIdle();
  EXPECT_EQ(ExitOf(5).reason, "config_error");
  EXPECT_THAT(ExitOf(5).last_lines, ElementsAre(HasSubstr("Failed to fetch nowhere")));
}

// While the server is away the attempt waits for its data; a stop still reaches it.
TEST_F(SlotsTest, WaitsForTheDataSetUntilStopped) {
  transport_.SetPartition(true);
  Assignment assignment;
  assignment.envelope_json = DumpStrict(ToJson(EnvelopeFor(5, "nowhere")));
  CHECK_OK(slots_.Start(*store_.Create(Identity(5), "here"), assignment));
  slots_.Stop(Identity(5).token, FailureKind::kCancelled);
  AwaitIdle();
  EXPECT_EQ(ExitOf(5).reason, "cancelled");
}

}  // namespace
}  // namespace normlab::worker
