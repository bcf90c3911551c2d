#ifndef NORMLAB_CORE_RANDOM_H_
#define NORMLAB_CORE_RANDOM_H_

#include <cstdint>
#include <memory>
#include <string>

namespace normlab {

// Where ids and tokens come from. (The numbers of training do not: they are counter-based.)
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual uint64_t Next() = 0;
  // 2·bytes lower-case hex digits.
  std::string HexToken(int bytes);
};

// The operating system's generator; thread-safe; lives for ever. Aborts if the system has none.
RandomSource& OsRandom();

// The same sequence for the same seed (SplitMix64), for tests and simulation. Not thread-safe.
std::unique_ptr<RandomSource> SeededRandom(uint64_t seed);

}  // namespace normlab

#endif  // NORMLAB_CORE_RANDOM_H_
