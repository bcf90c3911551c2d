#include "server/store/read_only_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/store.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/stored_run.h"
#include "tests/builders/temp_dir.h"

namespace normlab::server {
namespace {

class ReadOnlyStoreTest : public testing::Test {
 protected:
  void Add(int64_t run) {
    RunChanges changes;
    changes.runs = {ARun(run)};
    ASSERT_THAT(store_->runs().Commit(changes), IsOk());
  }
  int64_t Count() {
    return std::get<int64_t>(reader_->Query("SELECT count(*) FROM run")->rows[0][0]);
  }

  const TempDir dir_;
  std::unique_ptr<Store> store_ = *Store::Open({dir_.File("normlab.db")});
  std::unique_ptr<ReadOnlyStore> reader_ = *ReadOnlyStore::Open(dir_.File("normlab.db"));
};

TEST_F(ReadOnlyStoreTest, ASnapshotIsOneState) {
  Add(1);
  {
    const ReadOnlyStore::Snapshot snapshot(*reader_);
    ASSERT_THAT(snapshot.status(), IsOk());
    EXPECT_EQ(Count(), 1);
    Add(2);
    EXPECT_EQ(Count(), 1);
  }
  EXPECT_EQ(Count(), 2);
}

TEST_F(ReadOnlyStoreTest, TypedSqlOnlyReads) {
  Add(1);
  for (const char* sql :
       {"DELETE FROM run", "INSERT INTO meta VALUES ('a', 'b')", "DROP TABLE run",
        "ATTACH '/tmp/x.db' AS x", "PRAGMA query_only = OFF", "PRAGMA journal_mode = DELETE",
        "CREATE TEMP TABLE t (x)", "SELECT load_extension('x')", "VACUUM INTO '/tmp/y.db'"}) {
    EXPECT_THAT(reader_->QueryUntrusted(sql, {}, SystemClock()),
                IsStatusWith(absl::StatusCode::kPermissionDenied, "only reading is allowed"))
        << sql;
  }
  EXPECT_THAT(reader_->QueryUntrusted("SELECT state FROM run_v", {}, SystemClock()), IsOk());
  EXPECT_THAT(reader_->QueryUntrusted("SELECT 1; SELECT 2", {}, SystemClock()),
              IsStatusWith(absl::StatusCode::kInvalidArgument, "one statement"));
  EXPECT_THAT(reader_->QueryUntrusted("SELECT no_such FROM run_v", {}, SystemClock()),
              IsStatusWith(absl::StatusCode::kInvalidArgument, "no such column"));
}

TEST_F(ReadOnlyStoreTest, LimitsRowsAndTime) {
  const std::string endless =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";
  const auto cut = reader_->QueryUntrusted(endless, {10, absl::Seconds(30)}, SystemClock());
  ASSERT_THAT(cut, IsOk());
  EXPECT_EQ(cut->rows.size(), 10u);
  EXPECT_TRUE(cut->truncated);
  EXPECT_THAT(reader_->QueryUntrusted(Cat("SELECT max(x) FROM (", endless, ")"),
                                      {10, absl::ZeroDuration()}, SystemClock()),
              IsStatusWith(absl::StatusCode::kDeadlineExceeded, "too long"));
}

TEST_F(ReadOnlyStoreTest, NoDatabaseIsNotFound) {
  EXPECT_THAT(ReadOnlyStore::Open(dir_.File("other.db")),
              IsStatusWith(absl::StatusCode::kNotFound, "there is no database"));
}

}  // namespace
}  // namespace normlab::server
