#ifndef NORMLAB_CORE_VERSION_H_
#define NORMLAB_CORE_VERSION_H_

namespace normlab {

inline constexpr char kVersion[] = "0.1.0";

// Of the messages between programs. A server speaks its own and the one before.
inline constexpr int kProtocolVersion = 1;

// Grows when equations, initialisation or data order change (not for rounding): part of every run's
// identity, so that results of different mathematics are never taken for one another.
inline constexpr int kTrainerMath = 1;

}  // namespace normlab

#endif  // NORMLAB_CORE_VERSION_H_
