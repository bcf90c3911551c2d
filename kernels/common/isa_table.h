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

#if defined(__x86_64__)
#define NORMLAB_ISA_TABLES(table) \
  { &portable::table, &avx2::table, &avx512::table }
#else
#define NORMLAB_ISA_TABLES(table) \
  { &portable::table, nullptr, nullptr }
#endif

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_ISA_TABLE_H_
