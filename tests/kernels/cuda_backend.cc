// The CUDA kernels on the first GPU: buffers are copied there and back. A GPU that is not there, or
// a fault of its own, fails the test with the runtime's sentence.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/kernels/device_backend.h"

namespace normlab::kernels {
namespace {

void OrStop(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

class GpuMemory : public DeviceMemory {
 public:
  ~GpuMemory() override {
    for (const auto& [host, copy] : copies_) cudaFree(copy.allocation);
  }

  void* Use(const void* host, std::int64_t bytes) override {
    const auto found = copies_.find(host);
    if (found != copies_.end()) return found->second.data;
    Copy copy{nullptr, nullptr, static_cast<std::size_t>(bytes)};
    OrStop(cudaMalloc(&copy.allocation, copy.bytes + kPacket), "cudaMalloc");
    // A misaligned buffer must be refused there as it is here.
    const auto off = reinterpret_cast<std::uintptr_t>(host) % kPacket;
    copy.data = static_cast<char*>(copy.allocation) + off;
    OrStop(cudaMemcpy(copy.data, host, copy.bytes, cudaMemcpyHostToDevice), "copy to the GPU");
    copies_[host] = copy;
    return copy.data;
  }

  int Finish(int code) override {
    if (code != NORMLAB_OK) return code;
    OrStop(cudaDeviceSynchronize(), "a kernel failed");
    for (const auto& [host, copy] : copies_) {
      OrStop(cudaMemcpy(const_cast<void*>(host), copy.data, copy.bytes, cudaMemcpyDeviceToHost),
             "copy from the GPU");
    }
    return code;
  }

 private:
  static constexpr std::uintptr_t kPacket = 16;
  struct Copy {
    void* allocation;
    void* data;
    std::size_t bytes;
  };
  std::map<const void*, Copy> copies_;
};

}  // namespace

std::vector<std::string> BackendNames() { return {"cuda"}; }

std::unique_ptr<Backend> MakeBackend(const std::string&) {
  static constexpr DeviceFunctions kFunctions{
      &normlab_cuda_geonorm_forward,   &normlab_cuda_geonorm_workspace,
      &normlab_cuda_geonorm_backward,  &normlab_cuda_norm_workspace,
      &normlab_cuda_norm_forward,      &normlab_cuda_norm_backward,
      &normlab_cuda_residual_forward,  &normlab_cuda_residual_workspace,
      &normlab_cuda_residual_backward,
  };
  return MakeDeviceBackend("cuda", kFunctions, std::int64_t{1} << 34,
                           [] { return std::make_unique<GpuMemory>(); });
}

}  // namespace normlab::kernels
