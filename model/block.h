// One sublayer of the model: its branch N_out(f(N_in(x))) and the update of the stream,
//   x' = P( a·x , b·N_out( f( N_in(x) ) ) ).
// Nothing here knows a placement's name: the SublayerSpec says what is done.
#ifndef NORMLAB_MODEL_BLOCK_H_
#define NORMLAB_MODEL_BLOCK_H_

#include <ATen/core/Tensor.h>

#include "model/attention.h"
#include "model/linear.h"
#include "model/model_spec.h"
#include "model/norm_ops.h"
#include "model/parameters.h"

namespace normlab::model {

// The parameters of one sublayer; undefined where it has none.
struct SublayerParams {
  NormParams norm_in, norm_out, norm_post;
  LinearParams first, second;  // qkv and out, or up and down
  at::Tensor scale, angle_scale, angle_bias;
};

// What a forward pass leaves for the probes, by reference; nothing is copied.
struct SublayerTape {
  at::Tensor raw;   // f(N_in(x)), before the output norm [B, T, d]
  at::Tensor out;   // N_out(f(N_in(x))), without a and b [B, T, d]
  at::Tensor q, k;  // after rotary positions [B, H, T, h]; attention only
};

// What all sublayers of one forward pass share.
struct SublayerContext {
  const ModelSpec* spec = nullptr;
  const RotaryTables* rotary = nullptr;  // null with learned positions
  AttentionPath attention = AttentionPath::kFused;
  int64_t step = 1;      // training step, for placements whose b moves
  at::Tensor zero_rows;  // int64 [1]: rows without a direction are counted into it; or undefined
};

// Looks the sublayer's parameters up by name, once.
SublayerParams BindSublayer(const ModelSpec& spec, const SublayerSpec& sublayer,
                            const Parameters& parameters);

// f(N_in(x)) for the stream x; stream.normed, where defined, is N_in(x). `tape` may be null, and is
// given all but `out`.
at::Tensor RawBranch(const SublayerContext& context, const SublayerSpec& sublayer,
                     const SublayerParams& params, const Stream& stream, SublayerTape* tape);

// N_out(raw), in the dtype of the stream where there is such a norm.
at::Tensor NormaliseBranch(const SublayerContext& context, const SublayerSpec& sublayer,
                           const SublayerParams& params, const at::Tensor& x,
                           const at::Tensor& raw);

// The stream after the sublayer, normed by `next` (null: by none) where one pass can do both. So
// can it take N_out along; nobody else sees that branch then. `tape`, where not null, is given
// `out`.
Stream UpdateStream(const SublayerContext& context, const SublayerSpec& sublayer,
                    const SublayerParams& params, const NormParams* next, const at::Tensor& x,
                    const at::Tensor& raw, SublayerTape* tape);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_BLOCK_H_
