#include "model/block.h"

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "model/norm.h"

namespace normlab::model {
namespace {

NormParams BindNorm(const Parameters& parameters, const std::string& name) {
  return {parameters.Find(name + ".gain"), parameters.Find(name + ".bias")};
}

at::Tensor AttentionBranch(const SublayerContext& context, const SublayerParams& params,
                           const at::Tensor& x, SublayerTape* tape) {
  const ModelSpec& spec = *context.spec;
  const int64_t batch = x.size(0);
  const int64_t length = x.size(1);
  // [B, T, 3d] → three of [B, H, T, h], without a copy; unbound, so that their gradients come
  // together in one copy and not as three tensors of the whole size that are added.
  const std::vector<at::Tensor> qkv =
      at::unbind(Linear(params.first, x).view({batch, length, 3, spec.heads, spec.HeadWidth()}), 2);
  at::Tensor q = qkv[0].transpose(1, 2);
  at::Tensor k = qkv[1].transpose(1, 2);
  if (context.rotary != nullptr) {
    q = ApplyRotary(*context.rotary, q);
    k = ApplyRotary(*context.rotary, k);
  }
  if (tape != nullptr) {
    tape->q = q;
    tape->k = k;
  }
  const at::Tensor mixed = CausalAttention(q, k, qkv[2].transpose(1, 2), context.attention)
                               .transpose(1, 2)
                               .reshape({batch, length, spec.width});
  return Linear(params.second, mixed);
}

at::Tensor FeedForwardBranch(const SublayerContext& context, const SublayerParams& params,
                             const at::Tensor& x) {
  const ModelSpec& spec = *context.spec;
  const char* form = spec.activation == Activation::kGeluTanh ? "tanh" : "none";
  return Linear(params.second, at::gelu(Linear(params.first, x), form));
}

}  // namespace

SublayerParams BindSublayer(const ModelSpec& spec, const SublayerSpec& sublayer,
                            const Parameters& parameters) {
  const bool attention = sublayer.branch == Branch::kAttention;
  const std::string name =
      "blocks." + std::to_string(sublayer.block - 1) + (attention ? ".attn" : ".ffn");
  SublayerParams params;
  params.norm_in = BindNorm(parameters, name + ".norm_in");
  params.norm_out = BindNorm(parameters, name + ".norm_out");
  params.norm_post = BindNorm(parameters, name + ".norm_post");
  params.first = BindLinear(spec, parameters, name + (attention ? ".qkv" : ".up"));
  params.second = BindLinear(spec, parameters, name + (attention ? ".out" : ".down"));
  params.scale = parameters.Find(name + ".scale");
  params.angle_scale = parameters.Find(name + ".angle_scale");
  params.angle_bias = parameters.Find(name + ".angle_bias");
  return params;
}

at::Tensor RawBranch(const SublayerContext& context, const SublayerSpec& sublayer,
                     const SublayerParams& params, const Stream& stream, SublayerTape* tape) {
  const ModelSpec& spec = *context.spec;
  at::Tensor input = stream.normed.defined() ? stream.normed
                     : sublayer.norm_in      ? Normalise(spec, params.norm_in, stream.x)
                                             : stream.x;
  if (sublayer.input_divisor != 1.0) input = input / sublayer.input_divisor;
  const at::Tensor raw = sublayer.branch == Branch::kAttention
                             ? AttentionBranch(context, params, input, tape)
                             : FeedForwardBranch(context, params, input);
  if (tape != nullptr) tape->raw = raw;
  return raw;
}

at::Tensor NormaliseBranch(const SublayerContext& context, const SublayerSpec& sublayer,
                           const SublayerParams& params, const at::Tensor& x,
                           const at::Tensor& raw) {
  if (!sublayer.norm_out) return raw;
  return Normalise(*context.spec, params.norm_out, raw.to(x.scalar_type()));
}

Stream UpdateStream(const SublayerContext& context, const SublayerSpec& sublayer,
                    const SublayerParams& params, const NormParams* next, const at::Tensor& x,
                    const at::Tensor& raw, SublayerTape* tape) {
  const ModelSpec& spec = *context.spec;
  JoinSpec join;
  join.a = sublayer.a;
  join.b = sublayer.BranchFactor(context.step);
  join.scale = params.scale;
  if (sublayer.norm_post) join.post = &params.norm_post;
  join.next = next;
  if (tape == nullptr && sublayer.norm_out && sublayer.combine == Combine::kPlain) {
    join.branch = &params.norm_out;
    return JoinBranch(spec, join, x, raw);
  }
  const at::Tensor out = NormaliseBranch(context, sublayer, params, x, raw);
  if (tape != nullptr) tape->out = out;
  if (sublayer.combine == Combine::kSphere) {
    const SphereParams sphere = {params.angle_scale, params.angle_bias, context.zero_rows};
    return {SphereStep(spec, sublayer.angle, sphere, x, out), {}};
  }
  if (sublayer.combine == Combine::kOrthogonal) {
    return JoinBranch(spec, join, x, OrthogonalPart(x, out.to(x.scalar_type())));
  }
  return JoinBranch(spec, join, x, out);
}

}  // namespace normlab::model
