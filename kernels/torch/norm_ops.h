// The kernels as differentiable operations on LibTorch tensors, for the trainer and for Python.
//
// Shapes: x, v, g and every result are (..., D), contiguous, on the CPU, or on one CUDA device
// where HasKernels says so. On CUDA work is queued on LibTorch's current stream, and nobody waits
// for it. Types: stream and branch fp32, bf16 or fp64 alike, or an fp32 stream with a bf16 branch.
// Gains and biases are [D] in any floating type (used as fp32, or fp64 where the stream is fp64).
// A fault (shape, type, layout, alignment, device) throws c10::Error with a sentence naming both
// sides.
// On the CPU rows are split over LibTorch's own threads; results do not depend on how many there
// are.
//
// They can be differentiated once: under create_graph the backward passes still give their
// gradients, but a derivative of those throws c10::Error. Gradients of gradients need the same
// mathematics in tensor operations.
#ifndef NORMLAB_KERNELS_TORCH_NORM_OPS_H_
#define NORMLAB_KERNELS_TORCH_NORM_OPS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Whether the operations take tensors on this tensor's device: the CPU always, CUDA in builds that
// found nvcc and a CUDA LibTorch.
bool HasKernels(const at::Tensor& tensor);

struct CudaMemory {
  std::int64_t free_bytes = 0, total_bytes = 0;
};
// Of CUDA device 0, 1, ...; nothing where there is none, or where this build is for the CPU alone.
std::optional<CudaMemory> CudaMemoryOf(int device);

// The options of normlab_geonorm_options. `scale` and `bias` may also be given as one-element
// tensors (geo-affine), and then receive gradients; they win over the numbers.
struct GeoNormOptions {
  normlab_retraction retraction = NORMLAB_EXP;
  double alpha = 1.0;  // the layer's step, decay included
  double scale = 1.0;
  double bias = 0.0;
  double angle_clamp = 0.0;  // radians; 0 for none
  bool has_fixed_angle = false;
  double fixed_angle = 0.0;  // radians
  at::Tensor scale_tensor;
  at::Tensor bias_tensor;

  // Where defined: int64 [1] on the device of x; the number of zero rows is added to it.
  at::Tensor zero_rows;
  // Where defined: [rows, NORMLAB_ROW_PROBES] in the type of the arithmetic; overwritten with
  // mean |y|, sum y^2 and the angle between x and y.
  at::Tensor probes;
};

// y of the type of x.
at::Tensor GeoNorm(const at::Tensor& x, const at::Tensor& v, const GeoNormOptions& options);

// One norm. Undefined tensors mean no gain, no bias.
struct NormSpec {
  normlab_norm_kind kind = NORMLAB_LAYERNORM;
  at::Tensor gain;
  at::Tensor bias;
  double eps = 1e-5;
  bool pb_relax = false;
};

// y of the type of x, or bf16 for an fp32 x where `to_bf16`.
at::Tensor Norm(const at::Tensor& x, const NormSpec& spec, bool to_bf16 = false);

at::Tensor LayerNorm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias,
                     double eps);
at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& gain, double eps);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_NORM_OPS_H_
