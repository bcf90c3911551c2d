// Compiled only where nvcc and a CUDA LibTorch are found. Names neither c10/cuda nor the toolkit's
// headers: the stream comes from LibTorch's stable C interface, so any toolkit goes with any wheel.
#include "kernels/torch/cuda_calls.h"

extern "C" std::int32_t aoti_torch_get_current_cuda_stream(std::int32_t device_index,
                                                           void** ret_stream);

namespace normlab::kernels {
namespace {

bool CurrentStream(std::int32_t device, void** stream) {
  return aoti_torch_get_current_cuda_stream(device, stream) == 0;
}

}  // namespace

const CudaCalls* FindCudaCalls() {
  static constexpr CudaCalls kCalls{
      &normlab_cuda_geonorm_forward,
      &normlab_cuda_geonorm_workspace,
      &normlab_cuda_geonorm_backward,
      &normlab_cuda_norm_forward,
      &normlab_cuda_norm_workspace,
      &normlab_cuda_norm_backward,
      &normlab_cuda_residual_forward,
      &normlab_cuda_residual_workspace,
      &normlab_cuda_residual_backward,
      &normlab_cuda_device_memory,
      &CurrentStream,
  };
  return &kCalls;
}

}  // namespace normlab::kernels
