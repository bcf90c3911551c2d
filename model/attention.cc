#include "model/attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

namespace normlab::model {
namespace {

constexpr double kRotaryBase = 10000.0;

}  // namespace

at::Tensor AttentionScores(const at::Tensor& q, const at::Tensor& k) {
  const int64_t length = q.size(2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor above =
      at::ones({length, length}, q.options().dtype(at::kBool)).triu(/*diagonal=*/1);
  return at::matmul(q, k.transpose(-2, -1))
      .mul_(scale)
      .masked_fill_(above, -std::numeric_limits<double>::infinity());
}

at::Tensor CausalAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           AttentionPath path) {
  const bool no_fused_one = q.is_cuda() && q.scalar_type() == at::kDouble;
  if (path == AttentionPath::kMath || no_fused_one) {
    return at::matmul(AttentionScores(q, k).softmax(-1), v);
  }
  return at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0,
                                          /*is_causal=*/true);
}

RotaryTables MakeRotaryTables(int64_t seq_len, int64_t head_width,
                              const at::TensorOptions& options) {
  const int64_t half = head_width / 2;
  const at::Tensor channel = at::arange(half, at::kDouble);
  const at::Tensor frequency =
      (channel * (-2.0 / static_cast<double>(head_width)) * std::log(kRotaryBase)).exp();
  const at::Tensor angle = at::outer(at::arange(seq_len, at::kDouble), frequency);
  return {angle.cos().to(options), angle.sin().to(options)};
}

at::Tensor ApplyRotary(const RotaryTables& tables, const at::Tensor& x) {
  const int64_t length = x.size(2);
  const int64_t half = x.size(3) / 2;
  const at::Tensor cos = tables.cos.narrow(0, 0, length);
  const at::Tensor sin = tables.sin.narrow(0, 0, length);
  const at::Tensor first = x.narrow(3, 0, half);
  const at::Tensor second = x.narrow(3, half, half);
  // In bf16 the products are formed in the tables' fp32 and rounded once at the end.
  return at::cat({first * cos - second * sin, second * cos + first * sin}, 3).to(x.scalar_type());
}

}  // namespace normlab::model
