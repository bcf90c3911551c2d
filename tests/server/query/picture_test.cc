#include "server/query/picture.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/builders/non_finite.h"

namespace normlab::server {
namespace {

struct Curve {
  std::vector<int64_t> step;
  std::vector<double> value;
};

Curve Ramp(int64_t n) {
  Curve curve;
  for (int64_t i = 1; i <= n; ++i) {
    curve.step.push_back(i);
    curve.value.push_back(static_cast<double>(i));
  }
  return curve;
}

TEST(MakePictureTest, EveryPointIsInExactlyOneBucket) {
  for (const int64_t n : {1, 2, 7, 100, 1001}) {
    for (const int64_t points : {1, 3, 10, 5000}) {
      const Curve curve = Ramp(n);
      const std::vector<Bucket> picture = MakePicture(curve.step, curve.value, points);
      EXPECT_EQ(picture.size(), static_cast<size_t>(std::min(n, points)));
      int64_t next = 1;
      for (const Bucket& bucket : picture) {
        EXPECT_EQ(bucket.from, next);
        EXPECT_EQ(bucket.n, bucket.to - bucket.from + 1);
        EXPECT_EQ(bucket.min, static_cast<double>(bucket.from));
        EXPECT_EQ(bucket.max, static_cast<double>(bucket.to));
        next = bucket.to + 1;
      }
      EXPECT_EQ(next, n + 1);
    }
  }
}

TEST(MakePictureTest, OneSpikeAmongManyIsNeverLost) {
  Curve curve = Ramp(100000);
  curve.value[77777] = 1e9;
  double highest = 0;
  for (const Bucket& bucket : MakePicture(curve.step, curve.value, 50)) {
    highest = std::max(highest, *bucket.max);
  }
  EXPECT_EQ(highest, 1e9);
}

TEST(MakePictureTest, NonFiniteValuesAreCountedAndKeptOutOfTheExtremes) {
  const std::vector<Bucket> picture =
      MakePicture({1, 2, 3, 4, 5, 6}, {kNan, 2, kInf, kInf, kNan, -kInf}, 2);
  ASSERT_EQ(picture.size(), 2u);
  EXPECT_TRUE(std::isnan(picture[0].first));
  EXPECT_EQ(picture[0].last, kInf);
  EXPECT_EQ(picture[0].min, 2);
  EXPECT_EQ(picture[0].max, 2);
  EXPECT_EQ(picture[0].nonfinite, 2);
  EXPECT_FALSE(picture[1].min.has_value());
  EXPECT_EQ(picture[1].nonfinite, 3);
  EXPECT_EQ(picture[1].n, 3);
}

TEST(MakePictureTest, NothingGivesNothing) { EXPECT_TRUE(MakePicture({}, {}, 10).empty()); }

}  // namespace
}  // namespace normlab::server
