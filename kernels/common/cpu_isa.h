// The instruction sets that the CPU kernels are compiled for, and which one runs.
#ifndef NORMLAB_KERNELS_COMMON_CPU_ISA_H_
#define NORMLAB_KERNELS_COMMON_CPU_ISA_H_

namespace normlab::kernels {

// kAvx512Bf16 is kAvx512 with the processor's own rounding to bf16, and gives the same bits.
enum class CpuIsa { kPortable = 0, kAvx2 = 1, kAvx512 = 2, kAvx512Bf16 = 3 };
constexpr int kCpuIsaCount = 4;

const char* CpuIsaName(CpuIsa isa);

// Whether this build has the level and this CPU (and its operating system) can run it.
bool CpuSupports(CpuIsa isa);

// The level in force, or -1 with the reason in *problem when NORMLAB_CPU_ISA asks for what is not
// there. Read from the environment once; safe from any thread.
int ActiveCpuIsa(const char** problem);

// Overrides ActiveCpuIsa for the process; nullptr undoes it. False when there is no such level.
bool ForceCpuIsa(const char* name);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_CPU_ISA_H_
