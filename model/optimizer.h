// AdamW as PyTorch computes it, over the flat buffers of Parameters, and gradient clipping.
//
//   p ← p − lr·wd·p          (tensors with two dimensions or more only)
//   m ← β₁m + (1 − β₁)g      v ← β₂v + (1 − β₂)g²
//   p ← p − lr/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + eps)
#ifndef NORMLAB_MODEL_OPTIMIZER_H_
#define NORMLAB_MODEL_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/parameters.h"

namespace normlab::model {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
};

class AdamW {
 public:
  // Moments start at zero. Keeps a reference to `parameters`.
  AdamW(const AdamWOptions& options, Parameters& parameters);

  // One update of the values (in bf16 runs: of the fp32 masters, then of their copies) from the
  // gradients in place. `step` counts from 1.
  void Step(int64_t step, double lr);

  const AdamWOptions& options() const { return options_; }
  // First and second moments, flat, laid out as Parameters::values().
  at::Tensor& m() { return m_; }
  at::Tensor& v() { return v_; }
  const at::Tensor& m() const { return m_; }
  const at::Tensor& v() const { return v_; }

 private:
  AdamWOptions options_;
  Parameters& parameters_;
  at::Tensor m_, v_;
};

// √Σg² over all gradients, in fp64.
double GradNorm(const Parameters& parameters);

// min(1, max_norm/(norm + 1e-6)), as in PyTorch's clip_grad_norm_; 1 for max_norm 0, which is off.
double ClipCoefficient(double norm, double max_norm);

// Multiplies the gradients by that coefficient and returns it.
double ClipGradients(Parameters& parameters, double norm, double max_norm);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_OPTIMIZER_H_
