#include "model/model_spec.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/run_config.h"

namespace normlab::model {
namespace {

// The value that belongs to a choice's name. RunConfig has validated the text, so that a miss is a
// table of ours that lags behind core's.
template <typename T>
T Choice(const RunConfig& config, const char* key,
         std::initializer_list<std::pair<std::string_view, T>> table) {
  const std::string& text = config.Text(key);
  for (const auto& [name, value] : table) {
    if (name == text) return value;
  }
  CHECK(false) << key << " = " << text << " has no meaning in the trainer";
  __builtin_unreachable();
}

Retraction RetractionOf(const RunConfig& config) {
  return Choice<Retraction>(config, "norm.retraction",
                            {{"exp", Retraction::kExp},
                             {"projection", Retraction::kProjection},
                             {"cayley", Retraction::kCayley}});
}

double StreamFactor(StreamScale scale, int64_t layers) {
  switch (scale) {
    case StreamScale::kOne:
      return 1;
    case StreamScale::kDeepNorm:
      return std::pow(2.0 * static_cast<double>(layers), 0.25);
    case StreamScale::kKeel:
      return 2.0 * static_cast<double>(layers);
  }
  return 1;
}

double BranchConstant(const RunConfig& config, BranchScale scale, int64_t block) {
  const double l = static_cast<double>(block);
  switch (scale) {
    case BranchScale::kConstant:
      return config.Real("residual.scale");
    case BranchScale::kInverseDepth:
      return 1.0 / l;
    case BranchScale::kInverseSqrtDepth:
      return 1.0 / std::sqrt(l);
    case BranchScale::kOne:
    case BranchScale::kLearnedScalar:
    case BranchScale::kLearnedChannels:
    case BranchScale::kStepWarmup:
      return 1.0;
  }
  return 1;
}

// `index` is the sublayer from 1 to 2L, `block` its block from 1 to L.
AngleSpec MakeAngle(const RunConfig& config, const Placement& row, int64_t index, int64_t block,
                    int64_t layers) {
  AngleSpec angle;
  angle.affine = row.angle_affine;
  // A prenorm angle carries a decay of its own, so it means nothing to a placement without decay.
  if (row.decays && !row.angle_affine && config.Text("norm.angle") == "prenorm") {
    angle.fixed = true;
    angle.fixed_theta = std::atan(1.0 / std::sqrt(static_cast<double>(index)));
    return angle;
  }
  angle.retraction = RetractionOf(config);
  angle.clamp = config.Real("norm.angle_clamp");
  angle.alpha = config.Real("norm.alpha");
  if (row.decays) {
    const bool by_block = config.Text("norm.decay_unit") == "block";
    angle.alpha *= DecayFactor(config.Text("norm.decay"), by_block ? block : index,
                               by_block ? layers : 2 * layers);
  }
  return angle;
}

SublayerSpec MakeSublayer(const RunConfig& config, const Placement& placement, int64_t index,
                          int64_t layers) {
  const int64_t block = (index + 1) / 2;
  const Placement& row = !placement.first_quarter.empty() && block <= layers / 4
                             ? FindPlacement(placement.first_quarter)
                             : placement;
  const bool sphere = row.combine == Combine::kSphere;
  SublayerSpec sublayer;
  sublayer.branch = index % 2 == 1 ? Branch::kAttention : Branch::kFeedForward;
  sublayer.block = block;
  sublayer.norm_in = row.norm_in || (sphere && config.Bool("norm.inner"));
  sublayer.norm_out = row.norm_out;
  sublayer.norm_post = row.combine == Combine::kPost;
  sublayer.input_divisor = row.damp_input ? std::sqrt(static_cast<double>(block)) : 1.0;
  sublayer.combine = row.combine;
  sublayer.init = row.init;
  if (sphere) {
    sublayer.angle = MakeAngle(config, row, index, block, layers);
    return sublayer;
  }
  sublayer.a = StreamFactor(row.a, layers);
  sublayer.b = config.Real("residual.dt") * BranchConstant(config, row.b, block);
  sublayer.scale = row.b;
  if (row.b == BranchScale::kStepWarmup) {
    sublayer.warmup_steps = config.Real("residual.warmup") * static_cast<double>(block);
  }
  return sublayer;
}

NormSpec MakeNorm(const RunConfig& config) {
  NormSpec norm;
  norm.kind = Choice<NormKind>(
      config, "norm.kind", {{"layernorm", NormKind::kLayerNorm}, {"rmsnorm", NormKind::kRmsNorm}});
  norm.eps = config.Real("norm.eps");
  norm.gain = config.Bool("norm.gain");
  norm.bias = norm.gain && config.Bool("model.bias") && norm.kind == NormKind::kLayerNorm;
  norm.pb_relax = config.Text("norm.placement") == "sandwich" && config.Bool("norm.pb_relax");
  return norm;
}

InitSpec MakeInit(const RunConfig& config) {
  InitSpec init;
  init.scheme = Choice<InitScheme>(config, "init.scheme",
                                   {{"placement", InitScheme::kPlacement},
                                    {"gpt2", InitScheme::kGpt2},
                                    {"small-wang", InitScheme::kSmallWang},
                                    {"xavier", InitScheme::kXavier}});
  init.std = config.Real("init.std");
  init.output_scale = config.Real("init.output_scale");
  init.residual_scale = config.Real("init.residual_scale");
  init.seed = static_cast<uint64_t>(config.Int("seed.init"));
  return init;
}

Precision PrecisionOf(const RunConfig& config) {
  // "auto" is resolved at submission; a config that people run by hand means the CPU's fp32.
  return Choice<Precision>(config, "train.precision",
                           {{"auto", Precision::kFp32},
                            {"fp32", Precision::kFp32},
                            {"fp64", Precision::kFp64},
                            {"bf16", Precision::kBf16}});
}

}  // namespace

double SublayerSpec::BranchFactor(int64_t step) const {
  if (scale != BranchScale::kStepWarmup) return b;
  return b * std::min(static_cast<double>(step) / warmup_steps, 1.0);
}

double DecayFactor(const std::string& decay, int64_t k, int64_t total) {
  const double index = static_cast<double>(k);
  const double all = static_cast<double>(total);
  if (decay == "harmonic") return 1.0 / index;
  if (decay == "sqrt") return 1.0 / std::sqrt(index);
  if (decay == "linear") return (all - index + 1.0) / all;
  if (decay == "linear-paper") return (all - index) / all;
  CHECK(decay == "none") << "no decay is called " << decay;
  return 1.0;
}

ModelSpec MakeModelSpec(const RunConfig& config, int64_t data_vocab) {
  ModelSpec spec;
  const Placement& placement = FindPlacement(config.Text("norm.placement"));
  spec.placement = placement.name;
  spec.layers = config.Int("model.layers");
  spec.width = config.Int("model.width");
  spec.heads = config.Int("model.heads");
  spec.ffn = config.Int("model.ffn");
  spec.seq_len = config.Int("model.seq_len");
  spec.vocab = config.VocabFor(data_vocab);
  spec.positions =
      Choice<Positions>(config, "model.positions",
                        {{"learned", Positions::kLearned}, {"rotary", Positions::kRotary}});
  spec.activation =
      Choice<Activation>(config, "model.activation",
                         {{"gelu", Activation::kGelu}, {"gelu-tanh", Activation::kGeluTanh}});
  spec.tied_head = config.Bool("model.tied_head");
  spec.bias = config.Bool("model.bias");
  spec.norm = MakeNorm(config);
  spec.norm_embedding = config.Bool("norm.embedding");
  spec.norm_final = config.Bool("norm.final");
  spec.sphere_stream = placement.combine == Combine::kSphere;
  for (int64_t index = 1; index <= 2 * spec.layers; ++index) {
    spec.sublayers.push_back(MakeSublayer(config, placement, index, spec.layers));
  }
  spec.init = MakeInit(config);
  spec.head_init = placement.init;
  spec.precision = PrecisionOf(config);
  return spec;
}

}  // namespace normlab::model
