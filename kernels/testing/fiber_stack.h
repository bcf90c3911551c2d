#ifndef NORMLAB_KERNELS_TESTING_FIBER_STACK_H_
#define NORMLAB_KERNELS_TESTING_FIBER_STACK_H_

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

// AddressSanitizer is told which stack the program is on: an exception thrown on another stack than
// it believes in is reported as an overflow. Without that sanitizer these functions do nothing.

namespace normlab::kernels::simt {

struct FiberStack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* shadow = nullptr;  // the sanitizer's own, while the program is on another stack
};

// Right before a switch from one stack to the other.
inline void Leave([[maybe_unused]] FiberStack& from, [[maybe_unused]] const FiberStack& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.shadow, to.bottom, to.bytes);
#endif
}

// The same, from a stack that is not used again.
inline void LeaveForGood([[maybe_unused]] const FiberStack& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);
#endif
}

// Right after a switch; fills in where the stack lies that was left.
inline void Arrive([[maybe_unused]] const FiberStack& here, [[maybe_unused]] FiberStack& left) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(here.shadow, &left.bottom, &left.bytes);
#endif
}

}  // namespace normlab::kernels::simt

#endif  // NORMLAB_KERNELS_TESTING_FIBER_STACK_H_
