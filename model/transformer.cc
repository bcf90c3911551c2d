#include "model/transformer.h"

#include <ATen/ATen.h>

#include <utility>

#include "kernels/torch/torch_threads.h"
#include "model/norm.h"

namespace normlab::model {

namespace {

// Takes the tensor that `pick` finds in each part, and puts one below the other; undefined where
// there is none.
template <typename Pick>
at::Tensor JoinTensors(std::vector<Tape>& parts, const Pick& pick) {
  std::vector<at::Tensor> tensors;
  for (Tape& part : parts) tensors.push_back(std::move(pick(part)));
  return tensors.front().defined() ? at::cat(tensors, 0) : at::Tensor();
}

}  // namespace

Tape JoinTapes(std::vector<Tape> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  const bool on_cpu = parts.front().hidden.front().is_cpu();
  Tape joined;
  joined.hidden.resize(parts.front().hidden.size());
  joined.sublayers.resize(parts.front().sublayers.size());
  const auto join_layer = [&](int64_t s) {
    joined.hidden[s] = JoinTensors(parts, [s](Tape& t) -> at::Tensor& { return t.hidden[s]; });
    if (s == static_cast<int64_t>(joined.sublayers.size())) return;
    const auto join = [&](at::Tensor SublayerTape::*member) {
      return JoinTensors(parts, [&](Tape& t) -> at::Tensor& { return t.sublayers[s].*member; });
    };
    joined.sublayers[s] = {join(&SublayerTape::raw), join(&SublayerTape::out),
                           join(&SublayerTape::q), join(&SublayerTape::k)};
  };
  const int64_t layers = static_cast<int64_t>(joined.hidden.size());
  if (on_cpu) {
    kernels::OnTorchThreads(layers, join_layer);
  } else {
    for (int64_t s = 0; s < layers; ++s) join_layer(s);
  }
  return joined;
}

Transformer::Transformer(const ModelSpec& spec, const Parameters& parameters) : spec_(spec) {
  token_table_ = parameters.Find("embed.token");
  position_table_ = parameters.Find("embed.position");
  norm_embedding_ = {parameters.Find("norm_embedding.gain"),
                     parameters.Find("norm_embedding.bias")};
  norm_final_ = {parameters.Find("norm_final.gain"), parameters.Find("norm_final.bias")};
  const char* head = spec.tied_head ? "embed.token" : "head.weight";
  head_.weight = parameters.Find(head);
  if (spec.precision == Precision::kBf16) head_.weight_shadow = parameters.FindShadow(head);
  if (spec.positions == Positions::kRotary) {
    const at::TensorOptions options = token_table_.options().requires_grad(false);
    rotary_ = MakeRotaryTables(spec.seq_len, spec.HeadWidth(), options);
  }
  for (const SublayerSpec& sublayer : spec.sublayers) {
    sublayers_.push_back(BindSublayer(spec, sublayer, parameters));
  }
}

SublayerContext Transformer::Context(const ForwardOptions& options) const {
  return {&spec_, rotary_.cos.defined() ? &rotary_ : nullptr, options.attention, options.step,
          options.zero_rows};
}

at::Tensor Transformer::Embed(const at::Tensor& tokens) const {
  at::Tensor x = at::embedding(token_table_, tokens.to(token_table_.device()));
  if (position_table_.defined()) x = x + position_table_.narrow(0, 0, tokens.size(1));
  if (spec_.norm_embedding) x = Normalise(spec_, norm_embedding_, x);
  return spec_.sphere_stream ? OntoSphere(x) : x;
}

at::Tensor Transformer::Branch(int64_t index, const at::Tensor& x,
                               const ForwardOptions& options) const {
  return BranchWith(sublayers_[index], index, x, options);
}

at::Tensor Transformer::BranchWith(const SublayerParams& params, int64_t index, const at::Tensor& x,
                                   const ForwardOptions& options) const {
  SublayerTape* tape = options.tape ? &options.tape->sublayers[index] : nullptr;
  const SublayerContext context = Context(options);
  const SublayerSpec& sublayer = spec_.sublayers[index];
  const at::Tensor raw = RawBranch(context, sublayer, params, {x, {}}, tape);
  const at::Tensor out = NormaliseBranch(context, sublayer, params, x, raw);
  if (tape != nullptr) tape->out = out;
  return out;
}

at::Tensor Transformer::Sublayer(int64_t index, const at::Tensor& x,
                                 const ForwardOptions& options) const {
  return Advance(index, {x, {}}, options).x;
}

Stream Transformer::Advance(int64_t index, const Stream& stream,
                            const ForwardOptions& options) const {
  SublayerTape* tape = options.tape ? &options.tape->sublayers[index] : nullptr;
  const SublayerContext context = Context(options);
  const SublayerSpec& sublayer = spec_.sublayers[index];
  const at::Tensor raw = RawBranch(context, sublayer, sublayers_[index], stream, tape);
  // Who looks at a stream's gradient must find all of it there, and the part that comes through a
  // norm from the same pass would not be. The numbers are the same either way, bit for bit.
  const NormParams* next = options.on_stream ? nullptr : ReaderAfter(index);
  return UpdateStream(context, sublayer, sublayers_[index], next, stream.x, raw, tape);
}

const NormParams* Transformer::ReaderAfter(int64_t index) const {
  const size_t next = static_cast<size_t>(index) + 1;
  if (next == sublayers_.size()) return spec_.norm_final ? &norm_final_ : nullptr;
  // A divided input is divided before it is rounded to the branch's dtype, so not after the norm.
  const bool as_is = spec_.sublayers[next].norm_in && spec_.sublayers[next].input_divisor == 1.0;
  return as_is ? &sublayers_[next].norm_in : nullptr;
}

at::Tensor Transformer::Head(const at::Tensor& x) const { return ReadOut({x, {}}); }

at::Tensor Transformer::ReadOut(const Stream& stream) const {
  const at::Tensor input = stream.normed.defined() ? stream.normed
                           : spec_.norm_final      ? Normalise(spec_, norm_final_, stream.x)
                                                   : stream.x;
  return Linear(head_, input).to(stream.x.scalar_type());
}

at::Tensor Transformer::Forward(const at::Tensor& tokens, const ForwardOptions& options) const {
  Tape* tape = options.tape;
  Stream stream = {Embed(tokens), {}};
  if (tape != nullptr) {
    tape->hidden.assign(1, stream.x);
    tape->sublayers.assign(spec_.sublayers.size(), {});
  }
  if (options.on_stream) options.on_stream(0, stream.x);
  for (size_t index = 0; index < spec_.sublayers.size(); ++index) {
    stream = Advance(static_cast<int64_t>(index), stream, options);
    if (tape != nullptr) tape->hidden.push_back(stream.x);
    if (options.on_stream) options.on_stream(index + 1, stream.x);
  }
  return ReadOut(stream);
}

at::Tensor CrossEntropySum(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits.view({-1, logits.size(-1)}),
                                targets.to(logits.device()).reshape({-1}), {}, at::Reduction::Sum);
}

at::Tensor CrossEntropyBySequence(const at::Tensor& logits, const at::Tensor& targets) {
  const at::Tensor by_token =
      at::cross_entropy_loss(logits.view({-1, logits.size(-1)}),
                             targets.to(logits.device()).reshape({-1}), {}, at::Reduction::None);
  return by_token.to(at::kDouble).view(targets.sizes()).mean(1);
}

}  // namespace normlab::model
