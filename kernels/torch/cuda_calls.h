// The CUDA kernels as device_calls.cc sees them: a table that is there only in builds with nvcc and
// a CUDA LibTorch.
#ifndef NORMLAB_KERNELS_TORCH_CUDA_CALLS_H_
#define NORMLAB_KERNELS_TORCH_CUDA_CALLS_H_

#include <cstdint>

#include "kernels/include/normlab_kernels_cuda.h"

namespace normlab::kernels {

struct CudaCalls {
  decltype(&normlab_cuda_geonorm_forward) geonorm_forward;
  decltype(&normlab_cuda_geonorm_workspace) geonorm_workspace;
  decltype(&normlab_cuda_geonorm_backward) geonorm_backward;
  decltype(&normlab_cuda_norm_forward) norm_forward;
  decltype(&normlab_cuda_norm_workspace) norm_workspace;
  decltype(&normlab_cuda_norm_backward) norm_backward;
  decltype(&normlab_cuda_residual_forward) residual_forward;
  decltype(&normlab_cuda_residual_workspace) residual_workspace;
  decltype(&normlab_cuda_residual_backward) residual_backward;
  decltype(&normlab_cuda_device_memory) device_memory;
  // LibTorch's current stream of a device, as a cudaStream_t; null with false where it has none.
  bool (*current_stream)(std::int32_t device, void** stream);
};

// Null where this build has no CUDA kernels.
const CudaCalls* FindCudaCalls();

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_CUDA_CALLS_H_
