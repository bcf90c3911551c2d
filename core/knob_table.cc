// The table itself: every knob once.

#include <algorithm>

#include "core/applicability.h"
#include "core/knob.h"
#include "core/knob_row.h"
#include "core/placement_facts.h"
#include "core/presets.h"
#include "core/run_config.h"

namespace normlab {

namespace {

using knob_row::Choice;
using knob_row::Frozen;
using knob_row::Real;
using knob_row::Switch;
using knob_row::Whole;
using knob_row::Words;

const Preset& PresetOf(const RunConfig& config) { return FindPreset(config.Text("model.preset")); }

template <typename Entry>
std::vector<std::string_view> NamesOf(const std::vector<Entry>& entries) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

constexpr std::string_view kFromPreset = "from the preset";

KnobValue DefaultWarmup(const RunConfig& config) {
  return std::min<int64_t>(2000, (config.Int("train.steps") + 9) / 10);
}

using Rows = std::vector<Knob>;

Rows ModelRows() {
  return {
      Choice("model.preset", "nano", NamesOf(Presets()))
          .Help("a named size; gives the defaults of other model knobs and of the learning rate"),
      Whole("model.layers", 4)
          .From(1, 1024)
          .DefaultOf([](const RunConfig& c) { return KnobValue(PresetOf(c).layers); }, kFromPreset)
          .Result(Frozen(4))
          .Help("blocks L; each has an attention and a feed-forward sublayer"),
      Whole("model.width", 128)
          .From(1, 65536)
          .DefaultOf([](const RunConfig& c) { return KnobValue(PresetOf(c).width); }, kFromPreset)
          .Result(Frozen(128))
          .Help("width d of the residual stream"),
      Whole("model.heads", 4)
          .From(1, 1024)
          .DefaultOf([](const RunConfig& c) { return KnobValue(PresetOf(c).heads); }, kFromPreset)
          .Result(Frozen(4))
          .Help("attention heads; must divide the width"),
      Whole("model.ffn", 512)
          .From(1, 1 << 20)
          .DefaultOf([](const RunConfig& c) { return KnobValue(4 * c.Int("model.width")); },
                     "4 · width")
          .Result(Frozen(512))
          .Help("inner width of the feed-forward sublayer"),
      Whole("model.seq_len", 128)
          .From(1, 1 << 20)
          .Unit("tokens")
          .Result(Frozen(128))
          .Help("length of a training sequence"),
      Whole("model.vocab", 0)
          .From(0, 65536)
          .DefaultOf([](const RunConfig&) { return KnobValue(int64_t{0}); }, "from the data set")
          .Unit("tokens")
          .Result(Frozen(0))
          .Help("rows of the token table; gpt2-* and neox-* pad the data set's to 128"),
      Choice("model.positions", "learned", {"learned", "rotary"})
          .DefaultOf(
              [](const RunConfig& c) {
                return KnobValue(std::string(PresetOf(c).rotary ? "rotary" : "learned"));
              },
              kFromPreset)
          .Result(Frozen("learned"))
          .Help("a learned table added to the embedding, or rotation of q and k"),
      Switch("model.tied_head", true)
          .DefaultOf([](const RunConfig& c) { return KnobValue(!PresetOf(c).rotary); }, kFromPreset)
          .Result(true)
          .Help("the output head shares the token table's weights"),
      Switch("model.bias", false)
          .DefaultOf([](const RunConfig& c) { return KnobValue(PresetOf(c).rotary); }, kFromPreset)
          .Result(false)
          .Help("biases of the linear layers and of LayerNorm"),
      Choice("model.activation", "gelu", {"gelu", "gelu-tanh"})
          .DefaultOf(
              [](const RunConfig& c) {
                return KnobValue(std::string(PresetOf(c).gelu_tanh ? "gelu-tanh" : "gelu"));
              },
              kFromPreset)
          .Result(Frozen("gelu"))
          .Help("gelu is the exact erf form, gelu-tanh GPT-2's approximation"),
  };
}

Rows NormRows() {
  constexpr std::string_view kSphere = "geo, geo-affine, sphere";
  constexpr std::string_view kAdaptive = "geo (angle adaptive), geo-affine, sphere";
  constexpr std::string_view kAnyNorm = "where there is a norm: not geo or rezero without options";
  return {
      Choice("norm.placement", "pre", NamesOf(Placements()))
          .Result(Frozen("pre"))
          .Help("where the norms stand and how a branch joins the stream"),
      Choice("norm.kind", "layernorm", {"layernorm", "rmsnorm"})
          .If(applies::AnyNorm, kAnyNorm)
          .Result(Frozen("layernorm"))
          .Help("the norm itself"),
      Real("norm.eps", 1e-5)
          .From(0, 1)
          .If(applies::AnyNorm, kAnyNorm)
          .Result(1e-5)
          .Help("added to the variance (or mean square) inside the root"),
      Switch("norm.gain", true)
          .If(applies::AnyNorm, kAnyNorm)
          .Result(true)
          .Help("norms have a learned gain (and LayerNorm a bias, where model.bias is on)"),
      Choice("norm.decay", "harmonic", {"harmonic", "sqrt", "linear", "linear-paper", "none"})
          .If(applies::Decay, "geo (angle adaptive), geo-affine")
          .Result(Frozen("harmonic"))
          .Help("how the geodesic step falls with depth k: 1/k, 1/√k, (T−k+1)/T, (T−k)/T, 1"),
      Real("norm.alpha", 1)
          .From(0, 1000)
          .If(applies::SphereAdaptive, kAdaptive)
          .Result(1.0)
          .Help("size of the geodesic step before its decay"),
      Choice("norm.decay_unit", "block", {"block", "sublayer"})
          .If(applies::DecayUnit, "geo and geo-affine with a decay")
          .Result(Frozen("block"))
          .Help("whether decay counts blocks (shared by both sublayers) or sublayers"),
      Choice("norm.retraction", "exp", {"exp", "projection", "cayley"})
          .If(applies::SphereAdaptive, kAdaptive)
          .Result(Frozen("exp"))
          .Help("how a tangent step comes back to the sphere: angle θ, arctan θ, 2·arctan(θ/2)"),
      Choice("norm.angle", "adaptive", {"adaptive", "prenorm"})
          .If(applies::Angle, "geo")
          .Result(Frozen("adaptive"))
          .Help("angle from the branch's length, or Pre-Norm's fixed arctan(1/√k)"),
      Real("norm.angle_clamp", 0)
          .From(0, 3.15)
          .Unit("radians")
          .Off("off")
          .If(applies::SphereAdaptive, kAdaptive)
          .Result(0.0)
          .Help("largest angle before and after scale and decay"),
      Switch("norm.pb_relax", false)
          .If(applies::PbRelax, "sandwich")
          .Result(false)
          .Help("divide each row by an eighth of its largest magnitude before every norm"),
      Switch("norm.inner", false)
          .If(applies::Sphere, kSphere)
          .Result(false)
          .Help("a norm before the branch of a sphere placement"),
      Switch("norm.final", true)
          .DefaultOf(
              [](const RunConfig& c) {
                return KnobValue(FindPlacementFacts(c.Text("norm.placement")).final_norm);
              },
              "from the placement")
          .Result(true)
          .Help("a norm before the head"),
      Switch("norm.embedding", false)
          .Result(false)
          .Help("a norm after the embedding and its positions"),
  };
}

Rows ResidualAndInitRows() {
  return {
      Real("residual.dt", 1)
          .From(0, 1000)
          .If(applies::NotSphere, "not geo, geo-affine, sphere")
          .Result(1.0)
          .Help("Δt: factor of both branches, outside the output norm"),
      Real("residual.scale", 0.22)
          .From(0, 1000)
          .If(applies::Scaled, "scaled")
          .Result(0.22)
          .Help("constant factor of the branches"),
      Whole("residual.warmup", 1000)
          .From(1, 1000000000)
          .Unit("steps")
          .If(applies::ProRes, "prores")
          .Result(Frozen(1000))
          .Help("T of min(step / (T·block), 1), the factor of a block's branches"),
      Choice("init.scheme", "placement", {"placement", "gpt2", "small-wang", "xavier"})
          .Result(Frozen("placement"))
          .Help("initial weights as in each placement's paper, or one scheme for all arms"),
      Real("init.std", 0.02)
          .Above(0, 10)
          .Result(0.02)
          .Help("deviation wherever a scheme says 0.02, which is made for a width of 768; 0.05 at "
                "128"),
      Real("init.output_scale", 1)
          .From(0, 1000)
          .Result(1.0)
          .Help("factor on the initial output projections (attn.out and ffn.down)"),
      Real("init.residual_scale", 1)
          .From(0, 1000)
          .If(applies::ResidualScale, "not where output norms have no gain")
          .Result(1.0)
          .Help("the same on the gains of the output norms, where a placement has them: a control "
                "for Δt"),
  };
}

Rows TrainRows() {
  constexpr std::string_view kScheduled = "schedules other than constant";
  return {
      Words("data.name", "").Help("a prepared data set; its content is what counts"),
      Whole("data.val_tokens", 0)
          .From(0, 1000000000000)
          .Unit("tokens")
          .Observation()
          .Help("the validation set is its first so many tokens; 0: all of them"),
      Whole("train.steps", 300)
          .From(1, 1000000000)
          .Unit("steps")
          .Result(Frozen(300))
          .Help("optimiser steps"),
      Whole("train.batch", 8)
          .From(1, 1000000)
          .Unit("sequences")
          .Result(Frozen(8))
          .Help("sequences per optimiser step"),
      Whole("train.micro_batch", 8)
          .From(1, 1000000)
          .DefaultOf([](const RunConfig& c) { return KnobValue(c.Int("train.batch")); },
                     "train.batch")
          .Unit("sequences")
          .Operation()
          .Help("sequences at once; gradients add up to the same step"),
      Choice("train.precision", "auto", {"auto", "fp32", "bf16", "fp64"})
          .Result(Frozen("fp32"))
          .Help("auto: bf16 when the runs ask for GPUs, else fp32; settled at submission"),
      Real("train.lr", 1e-3)
          .From(0, 1000)
          .DefaultOf([](const RunConfig& c) { return KnobValue(PresetOf(c).lr); }, kFromPreset)
          .Result(3e-3)
          .Help("peak learning rate"),
      Whole("train.warmup", 30)
          .From(0, 1000000000)
          .DefaultOf(DefaultWarmup, "a tenth of the steps, at most 2000")
          .Unit("steps")
          .If(applies::Scheduled, kScheduled)
          .Result(Frozen(30))
          .Help("steps over which the learning rate rises from 0"),
      Choice("train.schedule", "cosine", {"cosine", "wsd", "linear", "constant"})
          .Result(Frozen("cosine"))
          .Help("learning rate after the warm-up; wsd: stable, then a fall over the last fifth"),
      Real("train.min_lr_ratio", 0.1)
          .From(0, 1)
          .If(applies::Scheduled, kScheduled)
          .Result(0.1)
          .Help("last learning rate as a share of the peak"),
      Real("train.beta1", 0.9).FromBelow(0, 1).Result(0.9).Help("AdamW's first moment"),
      Real("train.beta2", 0.95).FromBelow(0, 1).Result(0.95).Help("AdamW's second moment"),
      Real("train.adam_eps", 1e-8).From(0, 1).Result(1e-8).Help("AdamW's eps"),
      Real("train.weight_decay", 0.1)
          .From(0, 1000)
          .Result(0.1)
          .Help("decoupled weight decay, on tensors of two dimensions and more only"),
      Real("train.clip", 1)
          .From(0, 1e9)
          .Off("off")
          .Result(1.0)
          .Help("largest global gradient norm"),
      Switch("train.deterministic", true)
          .Operation()
          .Help("only kernels that give the same bits every time"),
  };
}

Rows OtherRows() {
  return {
      Whole("eval.every", 50)
          .From(1, 1000000000)
          .Unit("steps")
          .Observation()
          .Help("evaluation on the fixed validation set; also before the first and after the last "
                "step"),
      Whole("eval.batches", 16)
          .From(0, 1000000000)
          .Unit("batches")
          .Observation()
          .Help("batches of the validation set per evaluation, always the same ones; 0: all"),
      Whole("probe.every", 50)
          .From(0, 1000000000)
          .Unit("steps")
          .Observation()
          .Help("profiles over depth; also before the first and after the last step; 0: none"),
      Switch("probe.sensitivity", false)
          .Observation()
          .Help("at every evaluation the largest singular value of each sublayer's Jacobian"),
      Whole("checkpoint.every", 500)
          .From(0, 1000000000)
          .Unit("steps")
          .Operation()
          .Help("checkpoints to resume from; 0: only when stopped and at the end"),
      Whole("checkpoint.keep", 2)
          .From(1, 1000000)
          .Operation()
          .Help("newest checkpoints that are kept"),
      Whole("seed", 1)
          .From(0, 9007199254740992)
          .Help("initial weights and data order; the replicates of a sweep set it"),
      Whole("seed.init", 1)
          .From(0, 9007199254740992)
          .DefaultOf([](const RunConfig& c) { return KnobValue(c.Int("seed")); }, "seed")
          .Result(Frozen(0))
          .Help("initial weights only"),
      Whole("seed.data", 1)
          .From(0, 9007199254740992)
          .DefaultOf([](const RunConfig& c) { return KnobValue(c.Int("seed")); }, "seed")
          .Result(Frozen(0))
          .Help("data order only"),
  };
}

}  // namespace

const std::vector<Knob>& Knobs() {
  static const Rows* const table = [] {
    auto* const all = new Rows;
    for (Rows rows : {ModelRows(), NormRows(), ResidualAndInitRows(), TrainRows(), OtherRows()}) {
      all->insert(all->end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return *table;
}

}  // namespace normlab
