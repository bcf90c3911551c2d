// Every norm placement as data. One sublayer update is
//
//   x' = P( a·x , b·N_out( f( N_in(x) ) ) )
//
// with P plain (x + u), post (N(x + u)), sphere (a geodesic step; GeoNorm paper, section 3) or
// orthogonal (x + the part of u orthogonal to x). A new placement is one row of the table in the
// .cc.
#ifndef NORMLAB_MODEL_PLACEMENT_TABLE_H_
#define NORMLAB_MODEL_PLACEMENT_TABLE_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace normlab::model {

enum class Combine { kPlain, kPost, kSphere, kOrthogonal };

// a, the factor of the stream. kDeepNorm: (2L)^(1/4) (DeepNet paper, decoder-only); kKeel: 2L.
enum class StreamScale { kOne, kDeepNorm, kKeel };

// b, the factor of the branch, besides Δt. l is the block, counted from 1; t the training step.
enum class BranchScale {
  kOne,
  kConstant,          // residual.scale
  kInverseDepth,      // 1/l
  kInverseSqrtDepth,  // 1/√l
  kLearnedScalar,     // a parameter, 0 at the start (ReZero)
  kLearnedChannels,   // a parameter per channel, 1e-4 at the start (LayerScale)
  kStepWarmup,        // min(t / (T·l), 1), T = residual.warmup (ProRes)
};

// The paper's own initialisation, used under init.scheme = placement.
enum class InitRule {
  kPlain,         // normal 0.02 everywhere
  kScaledOutput,  // normal 0.02, output projections ÷ √(2L)
  kDeepNorm,      // Xavier normal, gain (8L)^(-1/4) on v, out, up, down
  kSmallSphere,   // √(2/(5d)), output projections 2/(L√d)
};

struct Placement {
  std::string_view name;
  bool norm_in = false;
  bool norm_out = false;
  Combine combine = Combine::kPlain;
  StreamScale a = StreamScale::kOne;
  BranchScale b = BranchScale::kOne;
  bool final_norm = false;
  InitRule init = InitRule::kPlain;
  bool damp_input = false;              // N_in(x)/√l (LayerNorm-Scaling)
  bool decays = true;                   // sphere: norm.decay applies; otherwise decay 1
  bool angle_affine = false;            // sphere: learned scale and bias of the angle
  std::string_view first_quarter = {};  // the first ⌊L/4⌋ blocks follow this placement instead
};

// All placements, in the order in which they are listed to people.
const std::vector<Placement>& PlacementTable();

// The row of that name; CHECKs that there is one (RunConfig has validated the name).
const Placement& FindPlacement(std::string_view name);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PLACEMENT_TABLE_H_
