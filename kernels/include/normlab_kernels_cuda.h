// CUDA interface of normlab's residual norms. The structs are those of normlab_kernels.h, with
// every pointer in device memory. Work is queued on `stream` (a cudaStream_t, whose device must be
// the current one of the calling thread) and never waited for; nothing is allocated, so every call
// can be captured in a graph. Results do not depend on the device's size. One launch per call, and
// one or two small ones after it where gradients of parameters (dangle, dgain, dbias, db,
// db_columns) are wanted.
//
// Beside the faults of the CPU interface: for F32 and BF16 matrices whose width is one of the
// presets' (128, 384, 768, 1024, 1280, 1536, 1600, 2048), rows, gains, biases, b_columns and
// workspaces must start at multiples of 16 bytes. NORMLAB_DEVICE_ERROR says that the CUDA runtime
// refused a launch.
#ifndef NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_CUDA_H_
#define NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_CUDA_H_

#include "kernels/include/normlab_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// Learned numbers, read by the kernels themselves, so that nobody waits for the device: Real[1]
// each, or NULL to use the number in normlab_geonorm_options.
typedef struct {
  const void* scale;
  const void* bias;
} normlab_cuda_learned_angle;

// `learned` may be NULL.
NORMLAB_API int normlab_cuda_geonorm_forward(const normlab_geonorm_options* options,
                                             const normlab_geonorm_forward_args* args,
                                             const normlab_cuda_learned_angle* learned,
                                             void* stream);
// dangle needs `workspace` of normlab_cuda_geonorm_workspace bytes.
NORMLAB_API int64_t normlab_cuda_geonorm_workspace(int64_t rows);
NORMLAB_API int normlab_cuda_geonorm_backward(const normlab_geonorm_options* options,
                                              const normlab_geonorm_backward_args* args,
                                              const normlab_cuda_learned_angle* learned,
                                              void* workspace, void* stream);

// args->workspace: normlab_cuda_norm_workspace bytes where dgain or dbias is wanted.
NORMLAB_API int64_t normlab_cuda_norm_workspace(int64_t rows, int64_t cols,
                                                normlab_dtype stream_type);
NORMLAB_API int normlab_cuda_norm_forward(const normlab_norm_options* options,
                                          const normlab_norm_forward_args* args, void* stream);
NORMLAB_API int normlab_cuda_norm_backward(const normlab_norm_options* options,
                                           const normlab_norm_backward_args* args, void* stream);

// learned_b: Real[1] that multiplies form->b, or NULL; with it args->dg must be given, and args->db
// is dL/d(form->b · learned_b). args->workspace: normlab_cuda_residual_workspace bytes.
NORMLAB_API int normlab_cuda_residual_forward(const normlab_residual_form* form,
                                              const normlab_residual_forward_args* args,
                                              const void* learned_b, void* stream);
NORMLAB_API int64_t normlab_cuda_residual_workspace(int64_t rows, int64_t cols,
                                                    normlab_dtype stream_type);
NORMLAB_API int normlab_cuda_residual_backward(const normlab_residual_form* form,
                                               const normlab_residual_backward_args* args,
                                               const void* learned_b, void* stream);

// Bytes of memory of device 0, 1, ...; NORMLAB_DEVICE_ERROR with the CUDA runtime's sentence where
// there is no such device.
NORMLAB_API int normlab_cuda_device_memory(int device, int64_t* free_bytes, int64_t* total_bytes);

#ifdef __cplusplus
}
#endif

#endif  // NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_CUDA_H_
