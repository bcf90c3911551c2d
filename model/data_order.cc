#include "model/data_order.h"

#include <algorithm>
#include <bit>

#include "model/counter_rng.h"

namespace normlab::model {
namespace {

constexpr uint64_t kRounds = 6;

uint64_t FeistelRound(uint64_t x, uint64_t key, int half_bits) {
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = x >> half_bits;
  uint64_t right = x & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t mixed = left ^ (Mix64(key + round * kGolden + right) & mask);
    left = right;
    right = mixed;
  }
  return (left << half_bits) | right;
}

}  // namespace

int64_t DataOrder::Permute(int64_t epoch, int64_t place) const {
  const uint64_t size = static_cast<uint64_t>(blocks_);
  const int bits = static_cast<int>(std::bit_width(size - 1));
  const int half_bits = std::max(1, (bits + 1) / 2);
  const uint64_t key = CounterRng(seed_, "data/order", static_cast<uint64_t>(epoch)).key();
  // The domain is at most four times (eight for a single block) the size, so a few steps suffice.
  uint64_t x = static_cast<uint64_t>(place);
  do {
    x = FeistelRound(x, key, half_bits);
  } while (x >= size);
  return static_cast<int64_t>(x);
}

std::vector<int64_t> DataOrder::BlocksOfStep(int64_t step, int64_t batch) const {
  std::vector<int64_t> blocks;
  blocks.reserve(batch);
  for (int64_t row = 0; row < batch; ++row) {
    const int64_t n = (step - 1) * batch + row;
    blocks.push_back(Permute(n / blocks_, n % blocks_));
  }
  return blocks;
}

}  // namespace normlab::model
