#include "server/store/block_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/random.h"
#include "tests/builders/non_finite.h"

namespace normlab::server {
namespace {

void ExpectSame(const std::vector<ScalarPoint>& a, const std::vector<ScalarPoint>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].step, b[i].step) << i;
    EXPECT_EQ(std::bit_cast<uint64_t>(a[i].value), std::bit_cast<uint64_t>(b[i].value)) << i;
  }
}

TEST(BlockCodec, KeepsEveryBit) {
  const std::vector<ScalarPoint> points = {{-5, 0.1},
                                           {1, -0.0},
                                           {2, kOddNan},
                                           {3, std::numeric_limits<double>::infinity()},
                                           {1000000, -std::numeric_limits<double>::infinity()},
                                           {7, std::numeric_limits<double>::denorm_min()},
                                           {std::numeric_limits<int64_t>::max(), 1},
                                           {std::numeric_limits<int64_t>::min(), 2}};
  std::vector<ScalarPoint> read;
  ASSERT_TRUE(
      DecodeScalars(kPlainCodec, kPlainCodecVersion, -5, 8, EncodeScalars(points, -5), read).ok());
  ExpectSame(read, points);
}

TEST(BlockCodec, AppendingBytesAppendsPoints) {
  const auto random = SeededRandom(7);
  std::vector<ScalarPoint> all;
  std::string bytes;
  for (int64_t step = 1; step <= 300; ++step) {
    const ScalarPoint point{step * 3, std::bit_cast<double>(random->Next())};
    bytes += EncodeScalars({point}, all.empty() ? point.step : all.back().step);
    all.push_back(point);
  }
  EXPECT_EQ(bytes, EncodeScalars(all, 3));
  std::vector<ScalarPoint> read;
  ASSERT_TRUE(DecodeScalars(kPlainCodec, kPlainCodecVersion, 3, 300, bytes, read).ok());
  ExpectSame(read, all);
  EXPECT_LE(bytes.size(), 300u * 9);
}

TEST(BlockCodec, SaysWhatIsBroken) {
  const std::string bytes = EncodeScalars({{1, 1}, {2, 2}}, 1);
  std::vector<ScalarPoint> read;
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_EQ(DecodeScalars(1, 1, 1, 2, bytes.substr(0, cut), read).code(),
              absl::StatusCode::kDataLoss)
        << cut;
  }
  EXPECT_EQ(DecodeScalars(1, 1, 1, 1, bytes, read).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeScalars(2, 1, 1, 2, bytes, read).code(), absl::StatusCode::kUnimplemented);
  std::vector<double> values;
  EXPECT_EQ(DecodeProfile(1, 1, 2, "short", values).code(), absl::StatusCode::kDataLoss);
}

TEST(BlockCodec, ProfilesToo) {
  std::vector<double> read;
  ASSERT_TRUE(DecodeProfile(1, 1, 3, EncodeProfile({1.5, kOddNan, -0.0}), read).ok());
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(std::bit_cast<uint64_t>(read[1]), std::bit_cast<uint64_t>(kOddNan));
  EXPECT_TRUE(std::signbit(read[2]));
}

}  // namespace
}  // namespace normlab::server
