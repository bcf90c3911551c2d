#ifndef NORMLAB_CORE_INSTRUCTION_SET_H_
#define NORMLAB_CORE_INSTRUCTION_SET_H_

namespace normlab {

// An instruction set is named after LibTorch's kernels: "avx2", "avx512" … This follows where the
// processor multiplies bf16 by itself (avx512_bf16 or AMX): "avx512+bf16".
inline constexpr char kBf16Suffix[] = "+bf16";

}  // namespace normlab

#endif  // NORMLAB_CORE_INSTRUCTION_SET_H_
