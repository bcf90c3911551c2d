// The CUDA kernels on the first GPU, as plain calls and as graphs that are captured and replayed:
// buffers are copied there and back. A GPU that is not there, or a fault of its own, fails the test
// with the runtime's sentence.
#include <cuda_runtime_api.h>

#include <map>

#include "tests/kernels/cuda_or_stop.h"
#include "tests/kernels/device_backend.h"

namespace normlab::kernels {
namespace {

enum class Calls { kPlain, kCaptured };

class GpuMemory : public DeviceMemory {
 public:
  explicit GpuMemory(Calls calls) : calls_(calls) {}
  ~GpuMemory() override {
    for (const auto& [host, copy] : copies_) cudaFree(copy.allocation);
  }

  void* Use(const void* host, std::int64_t bytes) override {
    const auto found = copies_.find(host);
    if (found != copies_.end()) return found->second.data;
    if (IsOnDevice(host)) return const_cast<void*>(host);
    Copy copy{nullptr, nullptr, static_cast<std::size_t>(bytes)};
    OrStop(cudaMalloc(&copy.allocation, copy.bytes + kPacket), "cudaMalloc");
    // A misaligned buffer must be refused there as it is here.
    const auto off = reinterpret_cast<std::uintptr_t>(host) % kPacket;
    copy.data = static_cast<char*>(copy.allocation) + off;
    copies_[host] = copy;
    Upload(host, copy);
    return copy.data;
  }

  int Run(const std::function<int(void* stream)>& call) override {
    const int code = calls_ == Calls::kPlain ? call(nullptr) : RunCaptured(call);
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

  // Matrices that would not go there and back are made there.
  static bool IsOnDevice(const void* memory) {
    cudaPointerAttributes attributes{};
    OrStop(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
    return attributes.type == cudaMemoryTypeDevice;
  }

  static void Upload(const void* host, const Copy& copy) {
    OrStop(cudaMemcpy(copy.data, host, copy.bytes, cudaMemcpyHostToDevice), "copy to the GPU");
  }

  // The first launch of a kernel may load it, which a capture does not allow: so the call runs once
  // before, and the buffers get their bytes again.
  int RunCaptured(const std::function<int(void* stream)>& call) {
    cudaStream_t stream = nullptr;
    OrStop(cudaStreamCreate(&stream), "cudaStreamCreate");
    int code = call(stream);
    OrStop(cudaStreamSynchronize(stream), "a kernel failed");
    if (code == NORMLAB_OK) {
      for (const auto& [host, copy] : copies_) Upload(host, copy);
      code = CaptureAndReplay(call, stream);
    }
    OrStop(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return code;
  }

  static int CaptureAndReplay(const std::function<int(void* stream)>& call, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    OrStop(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin of a capture");
    const int code = call(stream);
    OrStop(cudaStreamEndCapture(stream, &graph), "a call cannot be captured");
    OrStop(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
    OrStop(cudaGraphLaunch(replay, stream), "cudaGraphLaunch");
    OrStop(cudaStreamSynchronize(stream), "a replayed kernel failed");
    OrStop(cudaGraphExecDestroy(replay), "cudaGraphExecDestroy");
    OrStop(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return code;
  }

  Calls calls_;
  std::map<const void*, Copy> copies_;
};

}  // namespace

std::vector<std::string> BackendNames() { return {"cuda", "cuda_graph"}; }

std::unique_ptr<Backend> MakeBackend(const std::string& name) {
  const Calls calls = name == "cuda_graph" ? Calls::kCaptured : Calls::kPlain;
  static constexpr DeviceFunctions kFunctions{
      &normlab_cuda_geonorm_forward,   &normlab_cuda_geonorm_workspace,
      &normlab_cuda_geonorm_backward,  &normlab_cuda_norm_workspace,
      &normlab_cuda_norm_forward,      &normlab_cuda_norm_backward,
      &normlab_cuda_residual_forward,  &normlab_cuda_residual_workspace,
      &normlab_cuda_residual_backward,
  };
  return MakeDeviceBackend(name, kFunctions, std::int64_t{1} << 34,
                           [calls] { return std::make_unique<GpuMemory>(calls); });
}

}  // namespace normlab::kernels
