// What a run trains, as plain numbers: the part of a RunConfig that determines the model, with
// every preset and every default resolved, one SublayerSpec per sublayer. No tensors in here.
#ifndef NORMLAB_MODEL_MODEL_SPEC_H_
#define NORMLAB_MODEL_MODEL_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/placement_table.h"

namespace normlab {
class RunConfig;
}

namespace normlab::model {

enum class NormKind { kLayerNorm, kRmsNorm };
enum class Positions { kLearned, kRotary };
enum class Activation { kGelu, kGeluTanh };
enum class Retraction { kExp, kProjection, kCayley };
enum class Precision { kFp32, kFp64, kBf16 };
enum class Branch { kAttention, kFeedForward };
enum class InitScheme { kPlacement, kGpt2, kSmallWang, kXavier };

struct NormSpec {
  NormKind kind = NormKind::kLayerNorm;
  double eps = 1e-5;
  bool gain = true;       // false: neither gain nor bias, in every norm
  bool bias = false;      // LayerNorm only
  bool pb_relax = false;  // divide a row by max|x|/8 first (CogView, "PB-relax")
};

// How far a sphere placement turns: θ from ‖v‖/R (see geodesic.h).
struct AngleSpec {
  double alpha = 1;  // α·decay(k)
  double clamp = 0;  // radians; 0: off
  Retraction retraction = Retraction::kExp;
  bool fixed = false;  // angle: prenorm; then fixed_theta replaces everything else
  double fixed_theta = 0;
  bool affine = false;  // learned scale and bias
};

struct SublayerSpec {
  Branch branch = Branch::kAttention;
  int64_t block = 1;  // l, counted from 1
  bool norm_in = false;
  bool norm_out = false;
  bool norm_post = false;
  double input_divisor = 1;  // √l of lns
  Combine combine = Combine::kPlain;
  double a = 1;
  double b = 1;  // with Δt; without what is learned or moves with the step
  BranchScale scale = BranchScale::kOne;
  double warmup_steps = 0;  // T·l of prores
  AngleSpec angle;
  InitRule init = InitRule::kPlain;

  // b at training step `step` (counted from 1), again without learned factors.
  double BranchFactor(int64_t step) const;
};

struct InitSpec {
  InitScheme scheme = InitScheme::kPlacement;
  double std = 0.02;
  double output_scale = 1;
  double residual_scale = 1;
  uint64_t seed = 1;
};

struct ModelSpec {
  std::string placement;
  int64_t layers = 0, width = 0, heads = 0, ffn = 0, seq_len = 0;
  int64_t vocab = 0;  // rows of the token table
  Positions positions = Positions::kLearned;
  Activation activation = Activation::kGelu;
  bool tied_head = true;
  bool bias = false;
  NormSpec norm;
  bool norm_embedding = false;
  bool norm_final = false;
  bool sphere_stream = false;           // the embedding is put on radius √d in every forward pass
  std::vector<SublayerSpec> sublayers;  // 2·layers
  InitSpec init;
  InitRule head_init = InitRule::kPlain;  // the rule of the untied head under `placement`
  Precision precision = Precision::kFp32;
  bool composed_norms = false;  // the reference path of norm_ops.h instead of the kernels

  int64_t HeadWidth() const { return width / heads; }
  // Of one number of the stream, of a norm, and of a parameter and its gradient.
  int64_t StreamBytes() const { return precision == Precision::kFp64 ? 8 : 4; }
};

// The model of a validated config. `data_vocab` is the data set's vocabulary (0: unknown): when the
// config names none, the table gets as many rows as RunConfig::VocabFor says.
ModelSpec MakeModelSpec(const RunConfig& config, int64_t data_vocab);

// decay(k) of the GeoNorm paper by its knob's name, k = 1 … total.
double DecayFactor(const std::string& decay, int64_t k, int64_t total);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_MODEL_SPEC_H_
