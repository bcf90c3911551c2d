#include "tests/kernels/backend.h"

#include "kernels/common/cpu_isa.h"
#include "tests/kernels/backends.h"

namespace normlab::kernels {

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (int i = 0; i < kCpuIsaCount; ++i) {
    const auto isa = static_cast<CpuIsa>(i);
    if (CpuSupports(isa)) names.emplace_back(CpuIsaName(isa));
  }
  names.emplace_back("simt");
  return names;
}

std::unique_ptr<Backend> MakeBackend(const std::string& name) {
  return name == "simt" ? MakeSimtBackend() : MakeCpuBackend(name);
}

}  // namespace normlab::kernels
