// Picks the table of functions of the active instruction set.
#ifndef NORMLAB_KERNELS_COMMON_ISA_TABLE_H_
#define NORMLAB_KERNELS_COMMON_ISA_TABLE_H_

#include "kernels/common/check_args.h"
#include "kernels/common/cpu_isa.h"

namespace normlab::kernels {

// Null, with the failure kept for normlab_last_error(), when NORMLAB_CPU_ISA asks for the
// impossible.
template <class Table>
const Table* ActiveTable(const Table* const (&tables)[kCpuIsaCount]) {
  const char* problem = nullptr;
  const int isa = ActiveCpuIsa(&problem);
  if (isa < 0) {
    Fail(problem);
    return nullptr;
  }
  return tables[isa];
}

// A level that this build lacks has no table, and CpuSupports() denies it.
#if defined(NORMLAB_HAS_AVX2)
#define NORMLAB_AVX2_TABLE(table) &avx2::table
#else
#define NORMLAB_AVX2_TABLE(table) nullptr
#endif
#if defined(NORMLAB_HAS_AVX512)
#define NORMLAB_AVX512_TABLE(table) &avx512::table
#else
#define NORMLAB_AVX512_TABLE(table) nullptr
#endif
#if defined(NORMLAB_HAS_AVX512_BF16)
#define NORMLAB_AVX512_BF16_TABLE(table) &avx512_bf16::table
#else
#define NORMLAB_AVX512_BF16_TABLE(table) nullptr
#endif
#define NORMLAB_ISA_TABLES(table)                                             \
  {                                                                           \
    &portable::table, NORMLAB_AVX2_TABLE(table), NORMLAB_AVX512_TABLE(table), \
        NORMLAB_AVX512_BF16_TABLE(table)                                      \
  }

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_ISA_TABLE_H_
