// Randomness without state: every number is a function of (seed, purpose, index, position), so a
// resumed run, another arm of a sweep and a reader in another language all draw the same ones.
//
// With all arithmetic modulo 2^64:
//   Mix64(z)  : z ^= z >> 30; z *= 0xbf58476d1ce4e5b9; z ^= z >> 27; z *= 0x94d049bb133111eb;
//               z ^= z >> 31                                    (the finaliser of SplitMix64)
//   Fnv1a(s)  : h = 0xcbf29ce484222325; for each byte: h ^= byte; h *= 0x100000001b3
//   key       = Mix64(Mix64(Mix64(seed + G) ^ Fnv1a(purpose)) + index),   G = 0x9e3779b97f4a7c15
//   bits(i)   = Mix64(key + (i + 1) * G)                            i = 0, 1, ... is the position
//   normals   : for each pair (2j, 2j+1): u = ((bits(2j) >> 11) + 1) * 2^-53,
//               w = (bits(2j+1) >> 11) * 2^-53, r = sqrt(-2 ln u);
//               n(2j) = r cos(2 pi w), n(2j+1) = r sin(2 pi w), in double.
#ifndef NORMLAB_MODEL_COUNTER_RNG_H_
#define NORMLAB_MODEL_COUNTER_RNG_H_

#include <cstdint>
#include <string_view>

namespace normlab::model {

inline constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // G above

uint64_t Mix64(uint64_t z);

class CounterRng {
 public:
  CounterRng(uint64_t seed, std::string_view purpose, uint64_t index = 0);

  uint64_t key() const { return key_; }
  // The 64 bits at `position`.
  uint64_t Bits(uint64_t position) const;
  // Writes standard normal numbers for the positions 0 … count − 1.
  void FillNormal(double* out, int64_t count) const;

 private:
  uint64_t key_;
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_COUNTER_RNG_H_
