// The harness itself: what it must catch.
#include "kernels/testing/simt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace normlab::kernels {
namespace {

using testing::HasSubstr;

TEST(SimtTest, ShufflesAndBarriersHaveTheirMeaning) {
  std::vector<int> sums(64);
  const simt::Buffer buffer(sums.data(), 64 * 4);
  const std::string fault = simt::Launch(1, 64, [&] {
    int value = static_cast<int>(threadIdx.x);
    for (int distance = 16; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, distance);
    }
    __shared__ int parts[2];
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    simt::Store(&sums[threadIdx.x], parts[0] + parts[1]);
  });
  EXPECT_EQ(fault, "");
  EXPECT_THAT(sums, testing::Each(64 * 63 / 2));
}

TEST(SimtTest, BarrierThatNotAllThreadsReachIsAFault) {
  EXPECT_THAT(simt::Launch(1, 64,
                           [] {
                             if (threadIdx.x < 40) __syncthreads();
                           }),
              HasSubstr("40 threads wait at a barrier of the block, 0 at one of the warp or in a "
                        "shuffle, 24 have ended"));
}

TEST(SimtTest, ShuffleWithAnExitedLaneIsAFault) {
  EXPECT_THAT(simt::Launch(1, 32,
                           [] {
                             if (threadIdx.x != 5) __shfl_xor_sync(0xffffffffu, 1, 1);
                           }),
              HasSubstr("31 at one of the warp or in a shuffle, 1 have ended"));
}

TEST(SimtTest, AccessOutsideEveryBufferIsAFault) {
  std::vector<float> data(8);
  const simt::Buffer buffer(data.data(), 7 * 4);
  EXPECT_THAT(simt::Launch(1, 8, [&] { simt::Load(&data[threadIdx.x]); }),
              HasSubstr("an access of 4 bytes outside every buffer (block 0, thread 7)"));
}

TEST(SimtTest, MisalignedAccessIsAFault) {
  struct alignas(16) Packet {
    float values[4];
  };
  alignas(16) static float data[8] = {};
  const simt::Buffer buffer(data, sizeof(data));
  EXPECT_THAT(simt::Launch(1, 1, [&] { simt::Load(reinterpret_cast<const Packet*>(data + 1)); }),
              HasSubstr("a misaligned access of 16 bytes"));
}

}  // namespace
}  // namespace normlab::kernels
