// The CUDA kernels under the SIMT harness: announces every buffer, so that an access outside them
// fails the test.
#include <gtest/gtest.h>

#include <deque>

#include "kernels/testing/simt.h"
#include "kernels/testing/simt_kernels.h"
#include "tests/kernels/backends.h"
#include "tests/kernels/device_backend.h"

namespace normlab::kernels {
namespace {

class HostMemory : public DeviceMemory {
 public:
  void* Use(const void* host, std::int64_t bytes) override {
    EXPECT_NE(host, nullptr);
    EXPECT_GT(bytes, 0) << "a GPU has no such memory";
    buffers_.emplace_back(host, bytes);
    return const_cast<void*>(host);
  }
  int Run(const std::function<int(void* stream)>& call) override { return call(nullptr); }

 private:
  std::deque<simt::Buffer> buffers_;
};

}  // namespace

std::unique_ptr<Backend> MakeSimtBackend() {
  static constexpr DeviceFunctions kFunctions{
      &normlab_simt_geonorm_forward,   &normlab_simt_geonorm_workspace,
      &normlab_simt_geonorm_backward,  &normlab_simt_norm_workspace,
      &normlab_simt_norm_forward,      &normlab_simt_norm_backward,
      &normlab_simt_residual_forward,  &normlab_simt_residual_workspace,
      &normlab_simt_residual_backward,
  };
  return MakeDeviceBackend("simt", kFunctions, 200000,
                           [] { return std::make_unique<HostMemory>(); });
}

}  // namespace normlab::kernels
