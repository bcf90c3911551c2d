#include "server/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "server/store/migrations.h"
#include "server/store/read_only_store.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/stored_run.h"
#include "tests/builders/temp_dir.h"

namespace normlab::server {
namespace {

TEST(Store, IsDurableAndReadableByAnyLibrary) {
  const TempDir dir;
  const auto store = Store::Open({dir.File("normlab.db"), dir.File("LOCK")});
  ASSERT_THAT(store, IsOk());
  SQLite::Database plain(dir.File("normlab.db"), SQLite::OPEN_READONLY);
  EXPECT_EQ(plain.execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(plain.execAndGet("PRAGMA user_version").getInt(), SchemaVersion());
  for (const char* view : {"sweep_v", "cell_v", "member_v", "run_v", "attempt_v", "worker_v",
                           "event_v", "eval_v", "verdict_v"}) {
    EXPECT_EQ(plain.execAndGet(Cat("SELECT count(*) FROM ", view)).getInt(), 0) << view;
  }
}

TEST(Store, OneServerPerDataFolder) {
  const TempDir dir;
  const StoreOptions options{dir.File("normlab.db"), dir.File("LOCK")};
  auto first = Store::Open(options);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(Store::Open(options),
              IsStatusWith(absl::StatusCode::kFailedPrecondition, "another server has this data"));
  first->reset();
  EXPECT_THAT(Store::Open(options), IsOk());
}

TEST(Store, RefusesANewerDatabase) {
  const TempDir dir;
  const std::string path = dir.File("normlab.db");
  ASSERT_THAT(Store::Open({path}), IsOk());
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  EXPECT_THAT(Store::Open({path}), IsStatusWith(absl::StatusCode::kFailedPrecondition, "newer"));
  EXPECT_THAT(ReadOnlyStore::Open(path),
              IsStatusWith(absl::StatusCode::kFailedPrecondition, "newer"));
}

TEST(Store, FindsDamageAtTheStart) {
  const TempDir dir;
  const std::string path = dir.File("normlab.db");
  ASSERT_THAT(WriteFileDurably(path, std::string(8192, 'x')), IsOk());
  EXPECT_THAT(Store::Open({path}), IsStatusWith(absl::StatusCode::kDataLoss, path));
}

// A build between two releases had the same version and other tables: every batch would be refused
// at the first statement that needs one.
TEST(Store, RefusesAnotherSchemaOfTheSameVersion) {
  const TempDir dir;
  const std::string path = dir.File("normlab.db");
  ASSERT_THAT(Store::Open({path}), IsOk());
  const auto exec = [&](const char* sql) {
    SQLite::Database(path, SQLite::OPEN_READWRITE).exec(sql);
  };
  exec("CREATE TABLE notes (text TEXT); CREATE INDEX mine ON event (kind)");
  EXPECT_THAT(Store::Open({path}), IsOk()) << "what its user added does not matter";
  exec("ALTER TABLE profile_row RENAME TO profile");
  EXPECT_THAT(Store::Open({path}), IsStatusWith(absl::StatusCode::kFailedPrecondition,
                                                "its table profile_row is missing"));
  exec(
      "ALTER TABLE profile RENAME TO profile_row; DROP INDEX event_run; "
      "CREATE INDEX event_run ON event (run)");
  EXPECT_THAT(Store::Open({path}), IsStatusWith(absl::StatusCode::kFailedPrecondition,
                                                "its index event_run is another one"));
}

// Another program in a write transaction: the commit waits its time, and the reason is told.
TEST(Store, SaysThatAnotherProgramHoldsTheDatabase) {
  const TempDir dir;
  const StoreOptions options{.path = dir.File("normlab.db"), .busy_timeout = absl::ZeroDuration()};
  auto store = *Store::Open(options);
  RunChanges changes;
  changes.runs = {ARun(1)};
  {
    SQLite::Database other(options.path, SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");
    EXPECT_THAT(store->runs().Commit(changes),
                IsStatusWith(absl::StatusCode::kUnavailable, "database is locked"));
    EXPECT_THAT(store->Health(), IsStatusWith(absl::StatusCode::kUnavailable, "is locked"));
  }
  store.reset();
  store = *Store::Open(options);
  EXPECT_THAT(store->runs().Commit(changes), IsOk());
}

// Readers, even one that began before the server and never ends, hold nobody up.
TEST(Store, ALongReaderDoesNotHoldUpCommits) {
  const TempDir dir;
  const StoreOptions options{.path = dir.File("normlab.db"), .busy_timeout = absl::ZeroDuration()};
  ASSERT_THAT(Store::Open(options), IsOk());
  SQLite::Database reader(options.path, SQLite::OPEN_READONLY);
  reader.exec("BEGIN");
  ASSERT_EQ(reader.execAndGet("SELECT count(*) FROM run").getInt(), 0);
  const auto store = *Store::Open(options);
  // Enough pages for several checkpoints, none of which can finish.
  for (int64_t run = 1; run <= 400; ++run) {
    RunChanges changes;
    changes.runs = {ARun(run)};
    changes.runs[0].config = std::string(20'000, 'x');
    ASSERT_THAT(store->runs().Commit(changes), IsOk()) << run;
  }
  EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM run").getInt(), 0) << "its own state";
  reader.exec("COMMIT");
  EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM run").getInt(), 400);
}

TEST(Store, AReadThatFailedOnceDoesNotFailAgain) {
  const TempDir dir;
  const auto store = *Store::Open({dir.File("normlab.db")});
  RunChanges changes;
  changes.runs = {ARun(1)};
  changes.attempts = {AnAttempt(1, 1, -1, 50)};
  ASSERT_THAT(store->runs().Commit(changes), IsOk());
  const auto find = [&] {
    return store->metrics().FindLog(LeaseToken(101), RunId(1), AttemptNumber(1)).status();
  };
  EXPECT_THAT(find(), IsOk());
  SQLite::Database other(dir.File("normlab.db"), SQLite::OPEN_READWRITE);
  other.exec("ALTER TABLE attempt_log RENAME TO gone");
  EXPECT_THAT(find(), IsStatusWith(absl::StatusCode::kInternal, "no such table"));
  other.exec("ALTER TABLE gone RENAME TO attempt_log");
  EXPECT_THAT(find(), IsOk());
}

TEST(Store, NoticesThatItsFolderWasReplaced) {
  const TempDir dir;
  const StoreOptions options{dir.File("data/normlab.db"), dir.File("data/LOCK")};
  ASSERT_THAT(MakeDirs(dir.File("data")), IsOk());
  const auto store = *Store::Open(options);
  EXPECT_THAT(store->Health(), IsOk());
  ASSERT_THAT(RemoveAll(dir.File("data")), IsOk());
  EXPECT_THAT(store->Health(),
              IsStatusWith(absl::StatusCode::kFailedPrecondition, "removed or replaced"));
  ASSERT_THAT(MakeDirs(dir.File("data")), IsOk());
  const auto next = *Store::Open(options);
  EXPECT_THAT(next->Health(), IsOk());
  EXPECT_THAT(store->Health(),
              IsStatusWith(absl::StatusCode::kFailedPrecondition, "removed or replaced"));
}

TEST(Store, AfterAFailedCommitNothingIsTaken) {
  const TempDir dir;
  const auto store = *Store::Open({dir.File("normlab.db")});
  RunChanges changes;
  changes.runs = {ARun(1)};
  ASSERT_THAT(store->runs().Commit(changes), IsOk());
  EXPECT_THAT(store->Health(), IsOk());
  changes.runs = {ARun(2), ARun(1)};  // the second is there already
  EXPECT_FALSE(store->runs().Commit(changes).ok());
  EXPECT_TRUE(absl::IsUnavailable(store->Health()));
  changes.runs = {ARun(3)};
  EXPECT_TRUE(absl::IsUnavailable(store->runs().Commit(changes)));
  // All or nothing.
  const auto reader = *ReadOnlyStore::Open(dir.File("normlab.db"));
  EXPECT_EQ(std::get<int64_t>(reader->Query("SELECT count(*) FROM run")->rows[0][0]), 1);
}

TEST(Store, LoadGivesBackWhatWasCommitted) {
  const TempDir dir;
  const auto store = *Store::Open({dir.File("normlab.db")});
  RunChanges changes;
  changes.now = absl::FromUnixSeconds(1767225600);
  changes.runs = {ARun(1)};
  changes.attempts = {AnAttempt(1, 1, -1, 50)};
  changes.states = {AState(1, "waiting", 1)};
  changes.states[0].waiting_until = changes.now + absl::Seconds(10);
  changes.states[0].failures = 2;
  ASSERT_THAT(store->runs().Commit(changes), IsOk());
  const SavedState saved = *store->runs().Load();
  ASSERT_EQ(saved.runs.size(), 1u);
  EXPECT_EQ(saved.runs[0].state.state, "waiting");
  EXPECT_EQ(saved.runs[0].state.failures, 2);
  EXPECT_EQ(saved.runs[0].state.waiting_until, changes.now + absl::Seconds(10));
  ASSERT_EQ(saved.attempts.size(), 1u);
  EXPECT_EQ(saved.attempts[0].row.token, LeaseToken(101));
  EXPECT_EQ(saved.attempts[0].row.count_to, 50);
  EXPECT_FALSE(saved.attempts[0].resumed_from_step.has_value());
}

TEST(Store, TokensOf64BitsSurvive) {
  const TempDir dir;
  const auto store = *Store::Open({dir.File("normlab.db")});
  RunChanges changes;
  changes.runs = {ARun(1)};
  changes.attempts = {AnAttempt(1, 1, -1, 50)};
  changes.attempts[0].token = LeaseToken(0xfedcba9876543210);
  ASSERT_THAT(store->runs().Commit(changes), IsOk());
  EXPECT_EQ(store->runs().Load()->attempts[0].row.token, LeaseToken(0xfedcba9876543210));
  const auto reader = *ReadOnlyStore::Open(dir.File("normlab.db"));
  EXPECT_EQ(std::get<std::string>(reader->Query("SELECT token FROM attempt_v")->rows[0][0]),
            "fedcba9876543210");
}

}  // namespace
}  // namespace normlab::server
