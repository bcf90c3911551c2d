#include "model/environment.h"

#include <unistd.h>

#include <cstdlib>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include "absl/strings/ascii.h"

namespace normlab::model {

std::string InstructionSet() { return absl::AsciiStrToLower(at::get_cpu_capability()); }

std::string TorchVersion() { return TORCH_VERSION; }

void SetUpCompute(int threads, bool deterministic) {
  // Threads of the pool inherit this mode from the thread that starts them, which is this one.
  at::globalContext().setFlushDenormal(true);
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
  at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  // With the slow path out of reach, a shape that the fused attention cannot do fails instead of
  // taking ten times as long; where the slow path is wanted, it is asked for by name.
  at::globalContext().setSDPUseMath(false);
  at::globalContext().setSDPUseCuDNN(false);
}

void WaitPassively(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  execv("/proc/self/exe", argv);
}

}  // namespace normlab::model
