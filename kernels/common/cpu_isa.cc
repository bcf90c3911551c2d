#include "kernels/common/cpu_isa.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace normlab::kernels {
namespace {

constexpr const char* kNames[kCpuIsaCount] = {"portable", "avx2", "avx512", "avx512_bf16"};
constexpr int kNotForced = -1;

std::atomic<int> forced{kNotForced};

int IndexOf(const char* name) {
  for (int i = 0; i < kCpuIsaCount; ++i) {
    if (std::strcmp(name, kNames[i]) == 0) return i;
  }
  return -1;
}

struct Choice {
  int isa = 0;
  const char* problem = nullptr;
};

Choice Choose() {
  if (const char* wanted = std::getenv("NORMLAB_CPU_ISA"); wanted != nullptr && *wanted != '\0') {
    const int isa = IndexOf(wanted);
    if (isa < 0) return {-1, "NORMLAB_CPU_ISA is none of portable, avx2, avx512, avx512_bf16"};
    if (!CpuSupports(static_cast<CpuIsa>(isa))) {
      return {-1, "NORMLAB_CPU_ISA names an instruction set that this CPU or build lacks"};
    }
    return {isa, nullptr};
  }
  int best = 0;
  for (int i = 1; i < kCpuIsaCount; ++i) {
    if (CpuSupports(static_cast<CpuIsa>(i))) best = i;
  }
  return {best, nullptr};
}

}  // namespace

const char* CpuIsaName(CpuIsa isa) { return kNames[static_cast<int>(isa)]; }

// NORMLAB_HAS_…: the levels that kernels/CMakeLists.txt compiles, which is where they come from.
bool CpuSupports(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kPortable:
      return true;
    case CpuIsa::kAvx2:
#if defined(NORMLAB_HAS_AVX2)
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
      return false;
#endif
    case CpuIsa::kAvx512:
#if defined(NORMLAB_HAS_AVX512)
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
      return false;
#endif
    case CpuIsa::kAvx512Bf16:
#if defined(NORMLAB_HAS_AVX512_BF16)
      return CpuSupports(CpuIsa::kAvx512) && __builtin_cpu_supports("avx512bf16");
#else
      return false;
#endif
  }
  return false;
}

int ActiveCpuIsa(const char** problem) {
  if (const int isa = forced.load(std::memory_order_relaxed); isa != kNotForced) return isa;
  static const Choice choice = Choose();
  *problem = choice.problem;
  return choice.isa;
}

bool ForceCpuIsa(const char* name) {
  if (name == nullptr) {
    forced.store(kNotForced, std::memory_order_relaxed);
    return true;
  }
  const int isa = IndexOf(name);
  if (isa < 0 || !CpuSupports(static_cast<CpuIsa>(isa))) return false;
  forced.store(isa, std::memory_order_relaxed);
  return true;
}

}  // namespace normlab::kernels
