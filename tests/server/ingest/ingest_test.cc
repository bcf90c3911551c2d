#include "server/ingest/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/builders/status_matchers.h"
#include "tests/builders/stored_run.h"
#include "tests/fakes/failing_metric_store.h"
#include "tests/server/dispatch/server_lab.h"

namespace normlab::server {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Runs 1 and 2, each with one live attempt; token = run · 100 + attempt.
class IngestTest : public testing::Test {
 protected:
  void SetUp() override {
    RunChanges changes;
    changes.runs = {ARun(1), ARun(2)};
    for (int64_t run : {1, 2}) {
      changes.attempts.push_back(AnAttempt(run, 1, -1, std::numeric_limits<int64_t>::max()));
      changes.states.push_back(AState(run, "running", 1));
    }
    WorkerRow worker;
    worker.id = "w";
    worker.state = "connected";
    worker.gpus = "[]";
    changes.workers = {worker};
    SweepRow sweep;
    sweep.id = SweepId(1);
    sweep.name = "lab";
    sweep.spec = sweep.answer = "{}";
    changes.sweeps = {sweep};
    changes.cells = {{SweepId(1), CellNumber(1), "pre", "[]", "{}", "[{}]", false}};
    for (int64_t run : {1, 2}) {
      changes.members.push_back({SweepId(1), CellNumber(1), run, RunId(run), false, "{}"});
    }
    ASSERT_THAT(lab_.store().runs().Commit(changes), IsOk());
    lab_.Restart();
  }

  AppendRequest Request(int64_t run, uint64_t first_seq, const std::vector<Record>& records) {
    AppendRequest request{LeaseToken(static_cast<uint64_t>(run * 100 + 1)),
                          RunId(run),
                          AttemptNumber(1),
                          first_seq,
                          {}};
    for (const Record& record : records) request.records.push_back(EncodeRecord(record));
    return request;
  }
  uint64_t Append(int64_t run, uint64_t first_seq, const std::vector<Record>& records) {
    const auto acked = lab_.ingest().Append(Request(run, first_seq, records));
    EXPECT_THAT(acked, IsOk());
    return acked.value_or(0);
  }

  static Record Step(int64_t step, double loss, double grad = 1) {
    return ScalarsRecord{step, {{"train_loss", loss}, {"grad_norm", grad}}};
  }
  // A hello and steps 1 … n whose loss falls, with a little noise and a spike at step 200.
  static std::vector<Record> ASpikyLog(int64_t n) {
    std::vector<Record> records = {HelloRecord{}};
    for (int64_t step = 1; step <= n; ++step) {
      const double noise = 0.01 * std::sin(static_cast<double>(step * step));
      const double spike = step >= 200 && step < 206 ? 2 : 0;
      records.push_back(Step(step, 3 + noise + spike));
    }
    return records;
  }

  ServerLab lab_;
};

TEST_F(IngestTest, RepeatsAndHolesChangeNothing) {
  EXPECT_EQ(Append(1, 1, {HelloRecord{}, Step(1, 3), Step(2, 2)}), 3u);
  EXPECT_EQ(Append(1, 1, {HelloRecord{}, Step(1, 3), Step(2, 2)}), 3u);
  EXPECT_EQ(Append(1, 7, {Step(6, 1)}), 3u);              // behind a hole
  EXPECT_EQ(Append(1, 3, {Step(2, 2), Step(3, 1)}), 4u);  // half known
  EXPECT_EQ(Append(1, 1, {}), 4u);                        // only asks
  EXPECT_EQ(lab_.Number("SELECT count(*) FROM scalar('r1','train_loss')"), 3);
  EXPECT_EQ(lab_.Number("SELECT acked_seq FROM attempt_v WHERE run = 'r1'"), 4);
  lab_.Restart();
  EXPECT_EQ(Append(1, 4, {Step(3, 1), Step(4, 0.5)}), 5u);
  EXPECT_EQ(lab_.Number("SELECT count(*) FROM scalar('r1','train_loss')"), 4);
}

TEST_F(IngestTest, TokensThatWereNeverIssuedAreNotFound) {
  AppendRequest request = Request(1, 1, {HelloRecord{}});
  request.token = LeaseToken(999);
  EXPECT_TRUE(absl::IsNotFound(lab_.ingest().Append(request).status()));
  request = Request(1, 1, {HelloRecord{}});
  request.run = RunId(2);  // another run's token
  EXPECT_TRUE(absl::IsNotFound(lab_.ingest().Append(request).status()));
}

TEST_F(IngestTest, AfterAFailedCommitNothingIsTakenInAndHealthSaysWhy) {
  int told = 0;
  Ingest ingest(lab_.store().metrics(), SystemClock(),
                {[&](const std::vector<AttemptNews>&) {
                   return ++told == 1 ? absl::InternalError("disk full") : absl::OkStatus();
                 },
                 [](const std::set<SweepId>&, const std::set<RunId>&) {}});
  EXPECT_THAT(ingest.Health(), IsOk());
  const std::vector<Record> records = {LogLineRecord{"hello"}};
  EXPECT_TRUE(absl::IsUnavailable(ingest.Append(Request(1, 1, records)).status()));
  EXPECT_EQ(ingest.Health().message(), "a commit failed: disk full");
  EXPECT_TRUE(absl::IsUnavailable(ingest.Append(Request(2, 1, records)).status()));
  EXPECT_EQ(told, 1);
}

// The history of one attempt cannot be read for a while: only that attempt waits, and nothing of
// what it sent is lost or doubled once it can.
TEST_F(IngestTest, AHistoryThatCannotBeReadHoldsUpItsOwnAttemptOnly) {
  FailingMetricStore store(lab_.store().metrics());
  Ingest ingest(store, SystemClock(),
                {[](const std::vector<AttemptNews>&) { return absl::OkStatus(); },
                 [](const std::set<SweepId>&, const std::set<RunId>&) {}});
  store.FailHistoryOf(RunId(1), absl::DataLossError("block 3 is damaged"));
  const std::vector<Record> records = {HelloRecord{}, Step(1, 3)};
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(ingest.Append(Request(1, 1, records)),
                IsStatusWith(absl::StatusCode::kDataLoss, "block 3 is damaged"));
    EXPECT_THAT(ingest.Append(Request(2, 1, records)), IsOk());
    EXPECT_THAT(ingest.Health(), IsOk());
  }
  store.FailHistoryOf(RunId(1), absl::OkStatus());
  EXPECT_EQ(*ingest.Append(Request(1, 1, records)), 2u);
  EXPECT_EQ(lab_.Number("SELECT count(*) FROM scalar('r1','train_loss')"), 1);
}

// Out of memory in the middle of a commit: the call is answered, the next ones are too.
TEST_F(IngestTest, AnExceptionDoesNotLeaveCallersWaiting) {
  FailingMetricStore store(lab_.store().metrics());
  Ingest ingest(store, SystemClock(),
                {[](const std::vector<AttemptNews>&) { return absl::OkStatus(); },
                 [](const std::set<SweepId>&, const std::set<RunId>&) {}});
  store.ThrowInCommit();
  const std::vector<Record> records = {LogLineRecord{"hello"}};
  EXPECT_TRUE(absl::IsUnavailable(ingest.Append(Request(1, 1, records)).status()));
  EXPECT_TRUE(absl::IsUnavailable(ingest.Append(Request(2, 1, records)).status()));
  EXPECT_THAT(ingest.Health(), IsStatusWith(absl::StatusCode::kUnavailable, "bad_alloc"));
}

// Programs print what they like.
TEST_F(IngestTest, TextThatIsNoUtf8IsTakenIn) {
  ExitRecord exit;
  exit.exit_code = 1;
  exit.last_lines = {"caf\xe9 \xff"};
  HelloRecord hello;
  hello.device = "\xc3(";
  EXPECT_EQ(Append(1, 1, {hello, LogLineRecord{"\xfe\xff"}, EventRecord{1, "note", "\xff"}, exit}),
            4u);
  EXPECT_THAT(lab_.ingest().Health(), IsOk());
  EXPECT_EQ(lab_.Text("SELECT last_lines FROM attempt_v WHERE run = 'r1'"),
            "[\"caf\xef\xbf\xbd \xef\xbf\xbd\"]");
}

TEST_F(IngestTest, AnUnreadableRecordHarmsNobodyElse) {
  AppendRequest broken = Request(1, 1, {HelloRecord{}});
  broken.records.emplace_back("garbage");
  EXPECT_THAT(lab_.ingest().Append(broken),
              IsStatusWith(absl::StatusCode::kDataLoss, "record 2 of"));
  EXPECT_EQ(Append(2, 1, {HelloRecord{}, Step(1, 3)}), 2u);
  EXPECT_EQ(Append(1, 1, {HelloRecord{}}), 1u);
}

TEST_F(IngestTest, NonFiniteNumbersAreData) {
  ExitRecord exit;
  exit.exit_code = 3;
  exit.stopped_by = "nonfinite";
  exit.last_step = 2;
  Append(1, 1, {HelloRecord{}, Step(1, 3), Step(2, kNan), EvalRecord{2, kNan, 1, 1}, exit});
  EXPECT_EQ(lab_.Text("SELECT state || ' ' || outcome || ' ' || stopped_by FROM run_v "
                      "WHERE run = 'r1'"),
            "done diverged nonfinite");
  EXPECT_EQ(lab_.Number("SELECT first_nonfinite_step FROM run_v WHERE run = 'r1'"), 2);
  EXPECT_EQ(lab_.Text("SELECT nan_columns FROM run_v WHERE run = 'r1'"),
            R"(["train_loss","val_loss"])");
  EXPECT_EQ(lab_.Number("SELECT step FROM event_v WHERE kind = 'nonfinite' AND counted"), 2);
  EXPECT_EQ(lab_.Text("SELECT value FROM verdict_v WHERE kind = 'diverged_hard'"), "yes");
  EXPECT_EQ(lab_.Number("SELECT nonfinite FROM summary('r1','train_loss')"), 1);
}

// A stop by policy without divergence is no healthy run.
TEST_F(IngestTest, StoppedForSpikesIsCensored) {
  ExitRecord exit;
  exit.exit_code = 3;
  exit.stopped_by = "spikes_per_1k";
  exit.last_step = 2;
  Append(1, 1, {HelloRecord{}, Step(1, 3), Step(2, 2.9), exit});
  EXPECT_EQ(lab_.Text("SELECT outcome || ' ' || stopped_by FROM run_v WHERE run = 'r1'"),
            "censored spikes_per_1k");
}

// Run 1's log in one piece, run 2's in small pieces with restarts between them.
TEST_F(IngestTest, DetectorsDoNotNoticeRestarts) {
  const std::vector<Record> log = ASpikyLog(300);
  Append(1, 1, log);
  uint64_t acked = 0;
  while (acked < log.size()) {
    const size_t end = std::min(log.size(), acked + 41);
    acked = Append(2, acked + 1,
                   {log.begin() + static_cast<std::ptrdiff_t>(acked),
                    log.begin() + static_cast<std::ptrdiff_t>(end)});
    lab_.Restart();
  }
  EXPECT_EQ(lab_.Number("SELECT count(*) FROM event_v WHERE run = 'r1'"), 1);
  EXPECT_EQ(lab_.Number("SELECT count(*) FROM event_v WHERE run = 'r2'"), 1);
  EXPECT_EQ(lab_.Number("SELECT step FROM event_v WHERE run = 'r1'"), 200);
  EXPECT_EQ(lab_.Number("SELECT recovered FROM event_v WHERE run = 'r2'"), 1);
  EXPECT_EQ(lab_.Number("SELECT count(DISTINCT detail || z || height) FROM event_v"), 1);
  EXPECT_EQ(lab_.Number("SELECT spikes FROM run_v WHERE run = 'r2'"), 1);
}

TEST_F(IngestTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (const int64_t run : {1, 2}) {
    threads.emplace_back([this, run] {
      const std::vector<Record> log = ASpikyLog(120);
      for (uint64_t seq = 1; seq <= log.size(); ++seq) {
        ASSERT_EQ(Append(run, seq, {log[seq - 1]}), seq);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* run : {"r1", "r2"}) {
    EXPECT_EQ(lab_.Number(Cat("SELECT count(*) FROM scalar('", run, "','train_loss')")), 120);
  }
}

}  // namespace
}  // namespace normlab::server
