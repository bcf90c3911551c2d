// The CUDA interface as the SIMT harness runs it: the bodies of the .cu files, compiled for the
// host. Buffers that kernels may touch must be announced with simt::Buffer first.
#ifndef NORMLAB_KERNELS_TESTING_SIMT_KERNELS_H_
#define NORMLAB_KERNELS_TESTING_SIMT_KERNELS_H_

#include "kernels/include/normlab_kernels_cuda.h"

extern "C" {

int64_t normlab_simt_geonorm_workspace(int64_t rows);
int normlab_simt_geonorm_forward(const normlab_geonorm_options* options,
                                 const normlab_geonorm_forward_args* args, void* stream);
int normlab_simt_geonorm_backward(const normlab_geonorm_options* options,
                                  const normlab_geonorm_backward_args* args, void* workspace,
                                  void* stream);
int64_t normlab_simt_norm_workspace(int64_t rows, int64_t cols, normlab_dtype stream_type);
int normlab_simt_norm_forward(const normlab_norm_options* options,
                              const normlab_norm_forward_args* args, void* stream);
int normlab_simt_norm_backward(const normlab_norm_options* options,
                               const normlab_norm_backward_args* args, void* stream);
}

#endif  // NORMLAB_KERNELS_TESTING_SIMT_KERNELS_H_
