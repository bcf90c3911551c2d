// The kernels where the tensors are: on the CPU over LibTorch's own threads, on a CUDA device in
// its current stream. For the files of this folder; the operations themselves do not ask where.
//
// Arguments are checked by the kernels; a fault throws c10::Error with its sentence.
#ifndef NORMLAB_KERNELS_TORCH_DEVICE_CALLS_H_
#define NORMLAB_KERNELS_TORCH_DEVICE_CALLS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// The angle's learned numbers: one element each, or undefined. They win over the options' numbers.
// On a CUDA device the kernels read them there, so that nobody waits.
struct LearnedAngle {
  at::Tensor scale, bias;
};

// zero_rows (int64 [1], on the device of `on` or undefined) is added to; args.zero_rows is ignored.
void CallGeoNormForward(const at::Tensor& on, normlab_geonorm_options options,
                        const LearnedAngle& learned, normlab_geonorm_forward_args args,
                        const at::Tensor& zero_rows);
void CallGeoNormBackward(const at::Tensor& on, normlab_geonorm_options options,
                         const LearnedAngle& learned, const normlab_geonorm_backward_args& args);

void CallNormForward(const at::Tensor& on, const normlab_norm_options& options,
                     const normlab_norm_forward_args& args);
// Finds the workspace itself.
void CallNormBackward(const at::Tensor& on, const normlab_norm_options& options,
                      normlab_norm_backward_args args);

// learned_b: one element that multiplies form.b, or undefined. Finds the workspace itself.
void CallResidualForward(const at::Tensor& on, normlab_residual_form form,
                         const at::Tensor& learned_b, normlab_residual_forward_args args);
// Finds the workspace itself; args.db is dL/d(form.b · learned_b).
void CallResidualBackward(const at::Tensor& on, normlab_residual_form form,
                          const at::Tensor& learned_b, normlab_residual_backward_args args);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_DEVICE_CALLS_H_
