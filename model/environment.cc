#include "model/environment.h"

#include <unistd.h>

#include <cstdlib>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/instruction_set.h"

namespace normlab::model {

namespace {

bool MultipliesBf16() {
#if defined(__x86_64__)
  // Every processor with AMX has this as well; clang 14 knows no name for the other.
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

}  // namespace

std::string InstructionSet() {
  return absl::AsciiStrToLower(at::get_cpu_capability()) + (MultipliesBf16() ? kBf16Suffix : "");
}

std::string TorchVersion() { return TORCH_VERSION; }

absl::StatusOr<c10::Device> FindDevice(const std::string& name) {
  if (name == "cpu") return c10::Device(c10::kCPU);
  constexpr char kCuda[] = "cuda:";
  int index = -1;
  if (name.rfind(kCuda, 0) != 0 || !absl::SimpleAtoi(name.substr(sizeof kCuda - 1), &index) ||
      index < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("device \"", name, "\": there are cpu and cuda:0, cuda:1 …"));
  }
  if (!at::hasCUDA()) {
    return absl::AbortedError(
        absl::StrCat("device ", name, ": LibTorch ", TORCH_VERSION, " finds no CUDA device here"));
  }
  const c10::DeviceIndex count = at::detail::getCUDAHooks().deviceCount();
  if (index >= count) {
    return absl::AbortedError(
        absl::StrCat("device ", name, ": there are ", count, " CUDA devices here"));
  }
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

void SetUpCompute(int threads, bool deterministic) {
  // Threads of the pool inherit this mode from the thread that starts them, which is this one.
  at::globalContext().setFlushDenormal(true);
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
  at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  // cuBLAS repeats itself only with a workspace of fixed size, and LibTorch refuses it otherwise.
  if (deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
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
