// The harness itself: what it must catch.
#include "kernels/testing/simt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kernels/testing/simt_kernels.h"

namespace normlab::kernels {
namespace {

using testing::HasSubstr;

TEST(SimtTest, ShufflesAndBarriersHaveTheirMeaning) {
  std::vector<int> sums(64);
  const simt::Buffer buffer(sums.data(), 256);
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

TEST(SimtTest, BarriersOfDifferentKindsDoNotMeet) {
  EXPECT_THAT(simt::Launch(1, 64,
                           [] {
                             if (threadIdx.x < 32) __syncthreads();
                             if (threadIdx.x >= 32 && threadIdx.x % 2 == 0) __syncwarp();
                           }),
              HasSubstr("32 threads wait at a barrier of the block, 16 at one of the warp or in a "
                        "shuffle, 16 have ended"));
}

TEST(SimtTest, ShuffleWithALaneOutsideTheMaskIsAFault) {
  EXPECT_THAT(simt::Launch(1, 32,
                           [] {
                             if (threadIdx.x < 16) __shfl_xor_sync(0x0000ffffu, 1, 16);
                           }),
              HasSubstr("a shuffle with a lane outside its mask (block 0, thread 0)"));
}

TEST(SimtTest, WarpMayBeTheLastAndPartOfOne) {
  EXPECT_EQ(simt::Launch(2, 48,
                         [] {
                           const unsigned mask = threadIdx.x < 32 ? 0xffffffffu : 0x0000ffffu;
                           __syncwarp(mask);
                         }),
            "");
}

// Each thread takes what its neighbour left: wrong in one of the two orders unless all have met.
std::vector<int> TakeFromNeighbour(bool meet) {
  constexpr int kThreads = 8;
  std::vector<int> taken(std::size_t{2} * kThreads, -1);
  const simt::Buffer buffer(taken.data(), std::int64_t{8} * kThreads);
  EXPECT_EQ(simt::Launch(2, kThreads,
                         [&] {
                           __shared__ int left[kThreads];
                           const int thread = static_cast<int>(threadIdx.x);
                           const int block = static_cast<int>(blockIdx.x);
                           left[thread] = -1;
                           __syncthreads();
                           left[thread] = thread + 1;
                           if (meet) __syncthreads();
                           const int neighbour = (thread + 1) % kThreads;
                           simt::Store(&taken[block * kThreads + thread], left[neighbour]);
                         }),
            "");
  return taken;
}

TEST(SimtTest, MissingBarrierShows) {
  const std::vector<int> right = {2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1};
  EXPECT_EQ(TakeFromNeighbour(true), right);
  EXPECT_NE(TakeFromNeighbour(false), right);
}

// Sums over the block, one after the other through the same shared memory: a warp that is ahead
// must not write its part of the second before the others have read those of the first.
std::vector<int> SumsThroughOnePlace(bool meet) {
  constexpr int kSums = 2;
  std::vector<int> got(std::size_t{2} * kSums, -1);
  const simt::Buffer buffer(got.data(), std::int64_t{8} * kSums);
  EXPECT_EQ(simt::Launch(2, 64,
                         [&] {
                           __shared__ int parts[2];
                           const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
                           for (int k = 0; k < kSums; ++k) {
                             __syncwarp();
                             if (meet) __syncthreads();
                             if (lane == 0) parts[warp] = k == 0 ? 1 : 10;
                             __syncthreads();
                             const int sum = parts[0] + parts[1];
                             const bool last = warp == (blockIdx.x == 0 ? 1 : 0);
                             int* to = &got[blockIdx.x * kSums + static_cast<unsigned>(k)];
                             if (last && lane == 0) simt::Store(to, sum);
                           }
                         }),
            "");
  return got;
}

TEST(SimtTest, WarpThatIsAheadShows) {
  const std::vector<int> right = {2, 20, 2, 20}, ahead = {11, 20, 11, 20};
  EXPECT_EQ(SumsThroughOnePlace(true), right);
  EXPECT_EQ(SumsThroughOnePlace(false), ahead);
}

// Others have not begun when the first thread fails, or wait for it.
TEST(SimtTest, FaultEndsTheLaunch) {
  int begun = 0;
  EXPECT_THAT(simt::Launch(2, 96,
                           [&] {
                             ++begun;
                             if (threadIdx.x < 32) __syncthreads();
                             if (threadIdx.x == 40) simt::Load(&begun);
                             __syncthreads();
                           }),
              HasSubstr("outside every buffer (block 0, thread 40)"));
  EXPECT_EQ(begun, 41);
}

TEST(SimtTest, FaultOfAKernelIsADeviceErrorWithItsSentence) {
  std::vector<float> x(128, 1), v(128, 1), y(128);
  const normlab_geonorm_options options{NORMLAB_EXP, 1, 1, 0, 0, 0, 0};
  const auto matrix = [](std::vector<float>& data) {
    return normlab_matrix{data.data(), 1, 128, 128, NORMLAB_F32};
  };
  const normlab_geonorm_forward_args args{matrix(x), matrix(v), matrix(y),
                                          nullptr,   nullptr,   nullptr};
  const simt::Buffer read_x(x.data(), 512), read_v(v.data(), 512), short_y(y.data(), 496);
  EXPECT_EQ(normlab_simt_geonorm_forward(&options, &args, nullptr, nullptr), NORMLAB_DEVICE_ERROR);
  EXPECT_THAT(normlab_last_error(), HasSubstr("outside every buffer (block 0, thread 31)"));
}

TEST(SimtTest, AccessOutsideEveryBufferIsAFault) {
  std::vector<float> data(8);
  const simt::Buffer buffer(data.data(), 28);
  EXPECT_THAT(simt::Launch(1, 8, [&] { simt::Load(&data[threadIdx.x]); }),
              HasSubstr("an access of 4 bytes outside every buffer (block 0, thread 7)"));
}

TEST(SimtTest, WriteOutsideEveryBufferIsAFaultAndWritesNothing) {
  std::vector<float> data(8, 3);
  const simt::Buffer buffer(data.data() + 1, 28);
  EXPECT_THAT(simt::Launch(1, 1, [&] { simt::Store(&data[0], 5.0f); }),
              HasSubstr("an access of 4 bytes outside every buffer"));
  EXPECT_EQ(data[0], 3);
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
