// The part of the C interface that tells and forces the instruction set.
#include "kernels/common/check_args.h"
#include "kernels/common/cpu_isa.h"

using normlab::kernels::ActiveCpuIsa;
using normlab::kernels::CpuIsa;
using normlab::kernels::CpuIsaName;

extern "C" const char* normlab_cpu_isa(void) {
  const char* problem = nullptr;
  const int isa = ActiveCpuIsa(&problem);
  return isa < 0 ? "none" : CpuIsaName(static_cast<CpuIsa>(isa));
}

extern "C" int normlab_force_cpu_isa(const char* name) {
  if (normlab::kernels::ForceCpuIsa(name)) return NORMLAB_OK;
  return normlab::kernels::Fail(std::string("this CPU or build has no instruction set '") + name +
                                "'");
}
