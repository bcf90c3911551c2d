// The GPT-style model: embedding, 2L sublayers, optional final norm, head.
#ifndef NORMLAB_MODEL_TRANSFORMER_H_
#define NORMLAB_MODEL_TRANSFORMER_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "model/block.h"
#include "model/model_spec.h"
#include "model/parameters.h"

namespace normlab::model {

// What a forward pass leaves for the probes.
struct Tape {
  std::vector<at::Tensor> hidden;       // X_s for s = 0 … 2L, [B, T, d], before any final norm
  std::vector<SublayerTape> sublayers;  // 2L
};

// One tape of all the sequences, in the order of `parts`, which must not be empty. A thread joins
// layer after layer, so that not much more than the result is alive at one time.
Tape JoinTapes(std::vector<Tape> parts);

struct ForwardOptions {
  int64_t step = 1;
  AttentionPath attention = AttentionPath::kFused;
  Tape* tape = nullptr;
  at::Tensor zero_rows = {};  // see SublayerContext
  // Called with every s and X_s as it comes; unlike a tape, it keeps nothing alive.
  std::function<void(size_t s, const at::Tensor& x)> on_stream = {};
};

class Transformer {
 public:
  // Keeps references to the parameters' tensors, not to `parameters` itself.
  Transformer(const ModelSpec& spec, const Parameters& parameters);

  const ModelSpec& spec() const { return spec_; }

  // tokens [B, T] int64 on any device, T ≤ seq_len. Logits [B, T, V] in the stream's dtype (fp32
  // under bf16).
  at::Tensor Forward(const at::Tensor& tokens, const ForwardOptions& options) const;

  // What enters the first sublayer, [B, T, d].
  at::Tensor Embed(const at::Tensor& tokens) const;
  // N_out(f(N_in(x))) of sublayer `index` (from 0), without a and b.
  at::Tensor Branch(int64_t index, const at::Tensor& x, const ForwardOptions& options) const;
  // The same with other parameters than the sublayer's own.
  at::Tensor BranchWith(const SublayerParams& params, int64_t index, const at::Tensor& x,
                        const ForwardOptions& options) const;
  // The stream after sublayer `index`.
  at::Tensor Sublayer(int64_t index, const at::Tensor& x, const ForwardOptions& options) const;
  // Final norm, where there is one, and head.
  at::Tensor Head(const at::Tensor& x) const;

  const SublayerParams& sublayer_params(int64_t index) const { return sublayers_[index]; }

 private:
  SublayerContext Context(const ForwardOptions& options) const;
  Stream Advance(int64_t index, const Stream& stream, const ForwardOptions& options) const;
  // The norm through which the stream is read after sublayer `index`; null for none.
  const NormParams* ReaderAfter(int64_t index) const;
  at::Tensor ReadOut(const Stream& stream) const;

  ModelSpec spec_;
  RotaryTables rotary_;
  at::Tensor token_table_, position_table_;
  NormParams norm_embedding_, norm_final_;
  LinearParams head_;
  std::vector<SublayerParams> sublayers_;
};

// Σ over all targets of −ln p(target), in nats, as a 0-dimensional tensor. logits [B, T, V];
// targets [B, T] int64 on any device. Every row of the table takes part in the softmax, padded ones
// too.
at::Tensor CrossEntropySum(const at::Tensor& logits, const at::Tensor& targets);

// The same by sequence: mean over its tokens, [B], in fp64.
at::Tensor CrossEntropyBySequence(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_TRANSFORMER_H_
