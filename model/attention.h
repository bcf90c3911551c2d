// Causal self-attention over heads, and rotary positions.
#ifndef NORMLAB_MODEL_ATTENTION_H_
#define NORMLAB_MODEL_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/model_spec.h"

namespace normlab::model {

// Which implementation computes softmax(q·kᵀ/√h)·v. The fused one is the fast one; it has no
// forward-mode and no second derivative, which sensitivity probes need, so that these take kMath.
enum class AttentionPath { kFused, kMath };

// q, k, v [B, H, T, h] in one dtype, any strides with the last dimension dense. Returns [B, H, T,
// h]. Position i sees positions 0 … i.
at::Tensor CausalAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           AttentionPath path);

// Scaled scores q·kᵀ/√h with −∞ above the diagonal, [B, H, T, T], for kMath and for probes.
at::Tensor AttentionScores(const at::Tensor& q, const at::Tensor& k);

// cos and sin of position·base^(−2i/h), [T, h/2] each, computed in fp64 and rounded once
// to the dtype of `options`, on its device.
struct RotaryTables {
  at::Tensor cos, sin;
};
RotaryTables MakeRotaryTables(int64_t seq_len, int64_t head_width,
                              const at::TensorOptions& options);

// Turns channel pairs (i, i + h/2) of x [B, H, T, h] by the tables' first T rows.
at::Tensor ApplyRotary(const RotaryTables& tables, const at::Tensor& x);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_ATTENTION_H_
