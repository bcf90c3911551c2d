// CUDA interface of normlab's residual norms. The structs are those of normlab_kernels.h, with
// every pointer in device memory. Work is queued on `stream` (a cudaStream_t) and never waited for;
// nothing is allocated, so every call can be captured in a graph. Results do not depend on the
// device's size.
//
// Beside the faults of the CPU interface: rows of F32 and BF16 matrices whose width is one of the
// presets' (768, 1024, 1280, 1600, 2048; also 128 and 384) must start at multiples of 16 bytes.
// NORMLAB_DEVICE_ERROR says that the CUDA runtime refused a launch.
#ifndef NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_CUDA_H_
#define NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_CUDA_H_

#include "kernels/include/normlab_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// zero_rows, where given, is added to, so that one counter can serve a whole step; probes must be
// NULL.
NORMLAB_API int normlab_cuda_geonorm_forward(const normlab_geonorm_options* options,
                                             const normlab_geonorm_forward_args* args,
                                             void* stream);
// dangle needs `workspace` of normlab_cuda_geonorm_workspace bytes, and a second small launch.
NORMLAB_API int64_t normlab_cuda_geonorm_workspace(int64_t rows);
NORMLAB_API int normlab_cuda_geonorm_backward(const normlab_geonorm_options* options,
                                              const normlab_geonorm_backward_args* args,
                                              void* workspace, void* stream);

// args->workspace: normlab_cuda_norm_workspace bytes where dgain or dbias is wanted.
NORMLAB_API int64_t normlab_cuda_norm_workspace(int64_t rows, int64_t cols,
                                                normlab_dtype stream_type);
NORMLAB_API int normlab_cuda_norm_forward(const normlab_norm_options* options,
                                          const normlab_norm_forward_args* args, void* stream);
NORMLAB_API int normlab_cuda_norm_backward(const normlab_norm_options* options,
                                           const normlab_norm_backward_args* args, void* stream);

#ifdef __cplusplus
}
#endif

#endif  // NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_CUDA_H_
