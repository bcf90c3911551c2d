// A backend over the CUDA interface, wherever its memory is: the host's under the SIMT harness, a
// GPU's in the test of label `gpu`.
#ifndef NORMLAB_TESTS_KERNELS_DEVICE_BACKEND_H_
#define NORMLAB_TESTS_KERNELS_DEVICE_BACKEND_H_

#include <functional>
#include <memory>
#include <string>

#include "kernels/include/normlab_kernels_cuda.h"
#include "tests/kernels/backend.h"

namespace normlab::kernels {

// The buffers of one call.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Where kernels find the bytes, at least one, that lie at `host`, which is not null. Asked twice
  // for the same buffer, gives the same answer.
  virtual void* Use(const void* host, std::int64_t bytes) = 0;
  // Makes the call, with the stream that it gets, waits, and brings back what kernels wrote.
  // Returns the code of the call.
  virtual int Run(const std::function<int(void* stream)>& call) = 0;
};

// The functions of normlab_kernels_cuda.h under either prefix.
struct DeviceFunctions {
  decltype(&normlab_cuda_geonorm_forward) geonorm_forward;
  decltype(&normlab_cuda_geonorm_workspace) geonorm_workspace;
  decltype(&normlab_cuda_geonorm_backward) geonorm_backward;
  decltype(&normlab_cuda_norm_workspace) norm_workspace;
  decltype(&normlab_cuda_norm_forward) norm_forward;
  decltype(&normlab_cuda_norm_backward) norm_backward;
  decltype(&normlab_cuda_residual_forward) residual_forward;
  decltype(&normlab_cuda_residual_workspace) residual_workspace;
  decltype(&normlab_cuda_residual_backward) residual_backward;
};

std::unique_ptr<Backend> MakeDeviceBackend(
    const std::string& name, const DeviceFunctions& functions, std::int64_t most_elements,
    std::function<std::unique_ptr<DeviceMemory>()> new_memory);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_DEVICE_BACKEND_H_
