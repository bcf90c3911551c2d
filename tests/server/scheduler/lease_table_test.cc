#include "server/scheduler/lease_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/random.h"

namespace normlab::server {
namespace {

absl::Time At(int64_t seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

Lease LeaseOf(uint64_t token, const char* worker, int64_t expires) {
  return {LeaseToken(token), RunId(1), AttemptNumber(1), WorkerId(worker), At(expires)};
}

TEST(LeaseTable, StaleTokensChangeNothing) {
  LeaseTable table;
  table.Grant(LeaseOf(1, "a", 10));
  EXPECT_TRUE(table.Release(LeaseToken(1)));
  EXPECT_FALSE(table.Release(LeaseToken(1)));
  EXPECT_FALSE(table.Extend(LeaseToken(1), At(99)));
  EXPECT_EQ(table.Find(LeaseToken(1)), nullptr);
  EXPECT_TRUE(table.TakeExpired(At(1000)).empty());
}

TEST(LeaseTable, ExtendNeverShortens) {
  LeaseTable table;
  table.Grant(LeaseOf(1, "a", 10));
  EXPECT_TRUE(table.Extend(LeaseToken(1), At(5)));
  EXPECT_EQ(table.Find(LeaseToken(1))->expires, At(10));
  EXPECT_TRUE(table.Extend(LeaseToken(1), At(20)));
  EXPECT_TRUE(table.TakeExpired(At(19)).empty());
  ASSERT_EQ(table.TakeExpired(At(20)).size(), 1u);
}

// Beside a map that does the obvious thing.
TEST(LeaseTable, AgreesWithAPlainMap) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto random = SeededRandom(seed);
    LeaseTable table;
    std::map<uint64_t, Lease> model;
    int64_t now = 0;
    for (int step = 0; step < 500; ++step) {
      const uint64_t token = 1 + random->Next() % 30;
      const char* worker = random->Next() % 2 == 0 ? "a" : "b";
      const int64_t expires = now + static_cast<int64_t>(random->Next() % 50);
      switch (random->Next() % 4) {
        case 0:
          if (!model.contains(token)) {
            table.Grant(LeaseOf(token, worker, expires));
            model.emplace(token, LeaseOf(token, worker, expires));
          }
          break;
        case 1:
          ASSERT_EQ(table.Extend(LeaseToken(token), At(expires)), model.contains(token)) << seed;
          if (model.contains(token)) {
            model[token].expires = std::max(model[token].expires, At(expires));
          }
          break;
        case 2:
          ASSERT_EQ(table.Release(LeaseToken(token)), model.erase(token) == 1) << seed;
          break;
        default:
          now += static_cast<int64_t>(random->Next() % 10);
          for (const Lease& lease : table.TakeExpired(At(now))) {
            ASSERT_LE(lease.expires, At(now)) << seed;
            ASSERT_EQ(model.erase(lease.token.value()), 1u) << seed;
          }
          for (const auto& [left, lease] : model) ASSERT_GT(lease.expires, At(now)) << seed;
      }
      ASSERT_EQ(table.size(), model.size()) << seed;
      ASSERT_EQ(table.HeldBy(WorkerId("a")).size() + table.HeldBy(WorkerId("b")).size(),
                model.size());
    }
  }
}

}  // namespace
}  // namespace normlab::server
