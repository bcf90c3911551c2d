// The CUDA interface (normlab_kernels_cuda.h) as the SIMT harness runs it: the bodies of the .cu
// files, compiled for the host. Buffers that kernels may touch must be announced with simt::Buffer
// first.
#ifndef NORMLAB_KERNELS_TESTING_SIMT_KERNELS_H_
#define NORMLAB_KERNELS_TESTING_SIMT_KERNELS_H_

#include "kernels/include/normlab_kernels_cuda.h"

extern "C" {

decltype(normlab_cuda_geonorm_workspace) normlab_simt_geonorm_workspace;
decltype(normlab_cuda_geonorm_forward) normlab_simt_geonorm_forward;
decltype(normlab_cuda_geonorm_backward) normlab_simt_geonorm_backward;
decltype(normlab_cuda_norm_workspace) normlab_simt_norm_workspace;
decltype(normlab_cuda_norm_forward) normlab_simt_norm_forward;
decltype(normlab_cuda_norm_backward) normlab_simt_norm_backward;
decltype(normlab_cuda_residual_workspace) normlab_simt_residual_workspace;
decltype(normlab_cuda_residual_forward) normlab_simt_residual_forward;
decltype(normlab_cuda_residual_backward) normlab_simt_residual_backward;
}

#endif  // NORMLAB_KERNELS_TESTING_SIMT_KERNELS_H_
