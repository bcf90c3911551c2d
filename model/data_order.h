// Which sequence of the training file stands where: a function of (seed.data, step) alone, so that
// every arm of a sweep reads the same batches and a resumed run goes on where it stopped.
//
// A training file of N tokens with length T has M = (N − 1) / T blocks (rounded down). Block i has
// the inputs tokens[iT … iT + T − 1] and the targets tokens[iT + 1 … iT + T].
// Row j (from 0) of step t (from 1) with batch B is the n-th sequence read, n = (t − 1)·B + j;
// its epoch is e = n / M, its place p = n % M, and its block is Permute_e(p).
//
// Permute_e is a Feistel network of six rounds on 2h bits, walked until it lands inside [0, M):
//   h    = half of the bits of M − 1, rounded up, at least 1; mask = 2^h − 1
//   key  = CounterRng(seed.data, "data/order", e).key()             (see counter_rng.h)
//   x = p; do { L = x >> h; R = x & mask;
//               for r = 0 … 5: (L, R) = (R, L ^ (Mix64(key + r·G + R) & mask));   G as there
//               x = (L << h) | R } while (x >= M)
// Every epoch is thus its own permutation: each block once, in an order of its own.
#ifndef NORMLAB_MODEL_DATA_ORDER_H_
#define NORMLAB_MODEL_DATA_ORDER_H_

#include <cstdint>
#include <vector>

namespace normlab::model {

class DataOrder {
 public:
  // `blocks` ≥ 1.
  DataOrder(uint64_t seed, int64_t blocks) : seed_(seed), blocks_(blocks) {}

  // The block at place `place` of epoch `epoch`.
  int64_t Permute(int64_t epoch, int64_t place) const;
  // The blocks of step `step` (from 1), in the order of the batch's rows.
  std::vector<int64_t> BlocksOfStep(int64_t step, int64_t batch) const;

 private:
  uint64_t seed_;
  int64_t blocks_;
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_DATA_ORDER_H_
