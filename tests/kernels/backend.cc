#include "tests/kernels/backend.h"

#include <string_view>

#include "kernels/common/cpu_isa.h"
#include "tests/kernels/backends.h"

namespace normlab::kernels {
namespace {

constexpr std::string_view kPastCaches = "_past_caches";

}  // namespace

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (int i = 0; i < kCpuIsaCount; ++i) {
    const auto isa = static_cast<CpuIsa>(i);
    if (!CpuSupports(isa)) continue;
    names.emplace_back(CpuIsaName(isa));
    names.push_back(CpuIsaName(isa) + std::string(kPastCaches));
  }
  names.emplace_back("simt");
  return names;
}

std::unique_ptr<Backend> MakeBackend(const std::string& name) {
  if (name == "simt") return MakeSimtBackend();
  const bool past_caches = name.ends_with(kPastCaches);
  return MakeCpuBackend(name.substr(0, name.size() - (past_caches ? kPastCaches.size() : 0)),
                        past_caches);
}

}  // namespace normlab::kernels
