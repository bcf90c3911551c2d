// How much memory a device has: for programs that must not name the toolkit's headers themselves.
#include "kernels/common/check_args.h"
#include "kernels/include/normlab_kernels_cuda.h"

#include <cuda_runtime.h>

extern "C" int normlab_cuda_device_memory(int device, int64_t* free_bytes, int64_t* total_bytes) {
  int before = 0;
  std::size_t free_now = 0, total = 0;
  cudaError_t error = cudaGetDevice(&before);
  if (error == cudaSuccess) error = cudaSetDevice(device);
  if (error == cudaSuccess) {
    error = cudaMemGetInfo(&free_now, &total);
    cudaSetDevice(before);
  }
  if (error != cudaSuccess) {
    cudaGetLastError();  // so that the next launch is not blamed for it
    return normlab::kernels::FailOnDevice(cudaGetErrorString(error));
  }
  *free_bytes = static_cast<int64_t>(free_now);
  *total_bytes = static_cast<int64_t>(total);
  return NORMLAB_OK;
}
