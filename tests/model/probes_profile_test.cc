// What every probe stands on: measurements side by side, and rows in blocks.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "model/probes/profile.h"

namespace normlab::model {
namespace {

TEST(MeasureEach, KeepsTheOrderWhateverTheThreadsAndTheSize) {
  const at::Tensor base = at::ones({1}, at::kDouble).set_requires_grad(true);
  for (const int threads : {1, 3}) {
    for (const int64_t numbers : {int64_t{1}, int64_t{1} << 40}) {
      at::set_num_threads(threads);
      const auto results = MeasureEach(7, at::kCPU, numbers,
                                       [&](int64_t i) { return base * static_cast<double>(i); });
      at::set_num_threads(1);
      ASSERT_EQ(results.size(), 7u);
      for (int64_t i = 0; i < 7; ++i) {
        EXPECT_EQ(results[i].item<double>(), static_cast<double>(i));
        EXPECT_FALSE(results[i].requires_grad());
      }
    }
  }
}

// Two sequences of 501 rows, more than a block holds at this width, and not a multiple of it.
TEST(MeasureRows, JoinsTheBlocksOfEveryLayer) {
  const at::Tensor layer = at::arange(2 * 501, at::kFloat).view({2, 501, 1}).expand({2, 501, 700});
  int64_t blocks = 0;
  const auto measured = MeasureRows(3, layer, [&](int64_t index, const RowBlock& rows) {
    ++blocks;  // on one thread here
    const at::Tensor first = rows.Of(layer).select(1, 0);
    return at::stack({first + static_cast<double>(index), -first});
  });
  EXPECT_GT(blocks, 3);
  ASSERT_EQ(measured.size(), 3u);
  const at::Tensor expected = at::arange(2 * 501, at::kDouble);
  for (int64_t index = 0; index < 3; ++index) {
    ASSERT_EQ(measured[index].sizes(), at::IntArrayRef({2, 2 * 501}));
    EXPECT_TRUE(measured[index][0].equal(expected + static_cast<double>(index)));
    EXPECT_TRUE(measured[index][1].equal(-expected));
  }
}

}  // namespace
}  // namespace normlab::model
