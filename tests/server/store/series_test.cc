#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "server/store/read_only_store.h"
#include "server/store/reader.h"
#include "server/store/store.h"
#include "tests/builders/non_finite.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/stored_run.h"
#include "tests/builders/temp_dir.h"

namespace normlab::server {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
// Run 1: attempt 1 did steps 1 … 700, attempt 2 went on from step 600 to 1200.
class Series : public testing::Test {
 protected:
  void SetUp() override {
    RunChanges changes;
    changes.runs = {ARun(1)};
    changes.attempts = {AnAttempt(1, 1, -1, 600), AnAttempt(1, 2, 600, kEnd)};
    changes.attempts[0].state = "void";
    changes.attempts[1].parent = 1;
    changes.attempts[1].start_step = 600;
    changes.states = {AState(1, "running", 2)};
    ASSERT_THAT(store_->runs().Commit(changes), IsOk());
    Append(1, 1, 700);
    Append(2, 601, 1200);
    reader_ = *ReadOnlyStore::Open(dir_.File("normlab.db"));
  }

  static double ValueAt(int attempt, int64_t step) {
    if (step == 50) return kOddNan;
    if (step == 51) return std::numeric_limits<double>::infinity();
    return static_cast<double>(step) + attempt * 0.25;
  }

  // In commits of 37 steps, so that blocks fill up and begin in the middle of one.
  void Append(int attempt, int64_t first, int64_t last) {
    for (int64_t from = first; from <= last; from += 37) {
      LogUpdate update;
      update.run = RunId(1);
      update.attempt = AttemptNumber(attempt);
      update.acked_seq = static_cast<uint64_t>(from);
      for (int64_t step = from; step <= std::min(last, from + 36); ++step) {
        update.scalars["train_loss"].push_back({step, ValueAt(attempt, step)});
        if (step % 100 == 0) {
          update.profiles.push_back({step, "hidden_ma", 0, {1, static_cast<double>(step)}});
          update.evals.push_back({step, step == 200 ? kOddNan : 2.5, 12, 13});
        }
      }
      ASSERT_THAT(store_->metrics().Commit({update}, absl::UnixEpoch()), IsOk());
    }
  }

  const TempDir dir_;
  std::unique_ptr<Store> store_ = *Store::Open({dir_.File("normlab.db")});
  std::unique_ptr<ReadOnlyStore> reader_;
};

TEST_F(Series, EveryStepOnceAlongTheLine) {
  const ScalarSeries series = *ReadScalars(*reader_, RunId(1), "train_loss");
  ASSERT_EQ(series.step.size(), 1200u);
  for (int64_t step = 1; step <= 1200; ++step) {
    const auto i = static_cast<size_t>(step - 1);
    const int attempt = step <= 600 ? 1 : 2;
    ASSERT_EQ(series.step[i], step);
    ASSERT_EQ(series.attempt[i], attempt) << step;
    ASSERT_EQ(std::bit_cast<uint64_t>(series.value[i]),
              std::bit_cast<uint64_t>(ValueAt(attempt, step)))
        << step;
  }
  EXPECT_EQ(ReadScalars(*reader_, RunId(1), "train_loss", {590, 610})->step.size(), 21u);
  EXPECT_TRUE(ReadScalars(*reader_, RunId(1), "no_such_key")->step.empty());
  EXPECT_EQ(*ScalarKeys(*reader_, RunId(1)), std::vector<std::string>{"train_loss"});
}

// What detectors are rebuilt from: attempt 3 was to go on from attempt 2, whose checkpoints were
// lost, and took one of attempt 1 from the time before attempt 2.
TEST_F(Series, ALineThatWasTakenUpEarlierHasEveryStepOnce) {
  RunChanges changes;
  changes.attempts = {AnAttempt(1, 3, 250, kEnd)};
  changes.attempts[0].parent = 2;
  ASSERT_THAT(store_->runs().Commit(changes), IsOk());
  for (const auto& [attempt, resumed] : {std::pair{1, -1}, {2, 600}}) {
    LogUpdate update;
    update.run = RunId(1);
    update.attempt = AttemptNumber(attempt);
    update.acked_seq = 5000;
    update.hello.emplace().resumed_from_step = resumed;
    ASSERT_THAT(store_->metrics().Commit({update}, absl::UnixEpoch()), IsOk());
  }
  const auto history = store_->metrics().LoadLine(RunId(1), AttemptNumber(3), 250);
  ASSERT_THAT(history, IsOk());
  EXPECT_EQ(history->scalars.at("train_loss").size(), 250u);
  EXPECT_EQ(history->scalars.at("train_loss").back().step, 250);
  EXPECT_EQ(history->evals.back().step, 200);
}

TEST_F(Series, BlocksAreBounded) {
  const auto rows = reader_->Query(
      "SELECT n, nonfinite, min, max FROM scalar_block "
      "WHERE attempt = 1 ORDER BY block");
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->rows.size(), 2u);
  EXPECT_EQ(rows->rows[0], (SqlRow{int64_t{kBlockPoints}, int64_t{2}, 1.25, 512.25}));
  EXPECT_EQ(std::get<int64_t>(rows->rows[1][0]), 700 - kBlockPoints);
}

TEST_F(Series, ProfilesAndEvalsToo) {
  const ProfileSeries profiles = *ReadProfiles(*reader_, RunId(1), "hidden_ma");
  EXPECT_THAT(profiles.step,
              testing::ElementsAre(100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200));
  EXPECT_EQ(profiles.attempt[6], 2);
  EXPECT_EQ(ReadLastProfile(*reader_, RunId(1), "hidden_ma")->values[0][1], 1200);
  const std::vector<EvalPoint> evals = *ReadEvals(*reader_, RunId(1));
  ASSERT_EQ(evals.size(), 12u);
  EXPECT_EQ(std::bit_cast<uint64_t>(evals[1].val_loss), std::bit_cast<uint64_t>(kOddNan));
  EXPECT_EQ(evals[2].val_loss, 2.5);
}

TEST_F(Series, TableValuedFunctions) {
  const auto query = [this](const std::string& sql) {
    return reader_->QueryUntrusted(sql, {}, SystemClock());
  };
  const auto scalar = query(
      "SELECT step, value, attempt FROM scalar('r1','train_loss') "
      "WHERE step IN (50, 51, 600, 601) ORDER BY step");
  ASSERT_THAT(scalar, IsOk());
  EXPECT_EQ(scalar->rows,
            (std::vector<SqlRow>{{int64_t{50}, std::monostate(), int64_t{1}},
                                 {int64_t{51}, std::numeric_limits<double>::infinity(), int64_t{1}},
                                 {int64_t{600}, 600.25, int64_t{1}},
                                 {int64_t{601}, 601.5, int64_t{2}}}));
  const auto summary = query("SELECT n, min, max, nonfinite FROM summary('r1','train_loss')");
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->rows[0], (SqlRow{int64_t{1200}, 1.25, 1200.5, int64_t{2}}));
  const auto profile = query("SELECT depth, value FROM profile('r1','hidden_ma') WHERE step = 700");
  ASSERT_THAT(profile, IsOk());
  EXPECT_EQ(profile->rows, (std::vector<SqlRow>{{int64_t{0}, 1.0}, {int64_t{1}, 700.0}}));
  // Arguments may come from another table.
  const auto joined = query("SELECT r.run, s.n FROM run_v r, summary(r.run, 'train_loss') s");
  ASSERT_THAT(joined, IsOk());
  EXPECT_EQ(joined->rows, (std::vector<SqlRow>{{std::string("r1"), int64_t{1200}}}));
  EXPECT_THAT(query("SELECT * FROM scalar('37','x')"),
              IsStatusWith(absl::StatusCode::kInvalidArgument, "scalar()"));
  EXPECT_THAT(query("SELECT * FROM scalar('r1')"),
              IsStatusWith(absl::StatusCode::kInvalidArgument, "wants a run and a key"));
}

// The same functions in a program that is not ours.
TEST_F(Series, LoadableExtension) {
  SQLite::Database plain(dir_.File("normlab.db"), SQLite::OPEN_READONLY);
  plain.loadExtension(NORMLAB_SQLITE_EXTENSION_FILE, nullptr);
  EXPECT_EQ(plain.execAndGet("SELECT n FROM summary('r1','train_loss')").getInt(), 1200);
  EXPECT_EQ(plain.execAndGet("SELECT sum(value) FROM scalar('r1','train_loss') WHERE step > 1199")
                .getDouble(),
            1200.5);
}

}  // namespace
}  // namespace normlab::server
