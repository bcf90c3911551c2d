#include "server/stats/proportion.h"

#include "gtest/gtest.h"

namespace normlab::server {
namespace {

TEST(WilsonIntervalTest, KnownValues) {
  struct Case {
    int64_t k;
    int64_t n;
    double low;
    double high;
  };
  for (const Case& c :
       {Case{0, 10, 0, 0.2775328}, Case{1, 10, 0.0178762, 0.4041500},
        Case{5, 10, 0.2365931, 0.7634069}, Case{2, 2, 0.3423802, 1}, Case{0, 2, 0, 0.6576198}}) {
    const auto interval = WilsonInterval(c.k, c.n);
    ASSERT_TRUE(interval.has_value());
    EXPECT_NEAR(interval->low, c.low, 1e-7) << c.k << " of " << c.n;
    EXPECT_NEAR(interval->high, c.high, 1e-7) << c.k << " of " << c.n;
  }
}

TEST(WilsonIntervalTest, TheEndsAreExact) {
  for (int64_t n = 1; n < 200; ++n) {
    EXPECT_EQ(WilsonInterval(0, n)->low, 0);
    EXPECT_EQ(WilsonInterval(n, n)->high, 1);
  }
}

TEST(WilsonIntervalTest, NothingKnownOfNoRuns) { EXPECT_FALSE(WilsonInterval(0, 0).has_value()); }

}  // namespace
}  // namespace normlab::server
