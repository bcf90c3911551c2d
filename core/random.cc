#include "core/random.h"

#include <sys/random.h>

#include "core/check.h"

namespace normlab {

namespace {

class SystemRandom final : public RandomSource {
 public:
  uint64_t Next() override {
    uint64_t value = 0;
    // Up to 256 bytes come whole once the system's pool is up, signals or not.
    CHECK(getrandom(&value, sizeof(value), 0) == sizeof(value)) << "no system randomness";
    return value;
  }
};

class SplitMix final : public RandomSource {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next() override {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace

std::string RandomSource::HexToken(int bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  uint64_t bits = 0;
  for (int i = 0; i < 2 * bytes; ++i) {
    if (i % 16 == 0) bits = Next();
    text += kDigits[bits & 15];
    bits >>= 4;
  }
  return text;
}

RandomSource& OsRandom() {
  static SystemRandom* const source = new SystemRandom;
  return *source;
}

std::unique_ptr<RandomSource> SeededRandom(uint64_t seed) {
  return std::make_unique<SplitMix>(seed);
}

}  // namespace normlab
