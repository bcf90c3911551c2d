#include "model/placement_table.h"

#include "core/check.h"

namespace normlab::model {

const std::vector<Placement>& PlacementTable() {
  using enum Combine;
  static const std::vector<Placement>& table = *new std::vector<Placement>{
      {.name = "post", .combine = kPost},
      {.name = "pre", .norm_in = true, .final_norm = true, .init = InitRule::kScaledOutput},
      {.name = "peri",
       .norm_in = true,
       .norm_out = true,
       .final_norm = true,
       .init = InitRule::kScaledOutput},
      {.name = "sandwich",
       .norm_in = true,
       .norm_out = true,
       .final_norm = true,
       .init = InitRule::kScaledOutput},
      {.name = "deep", .combine = kPost, .a = StreamScale::kDeepNorm, .init = InitRule::kDeepNorm},
      {.name = "geo", .combine = kSphere, .init = InitRule::kSmallSphere},
      {.name = "geo-affine",
       .combine = kSphere,
       .init = InitRule::kSmallSphere,
       .angle_affine = true},
      {.name = "sphere", .combine = kSphere, .init = InitRule::kSmallSphere, .decays = false},
      {.name = "lns", .norm_in = true, .final_norm = true, .damp_input = true},
      {.name = "mix",
       .norm_in = true,
       .final_norm = true,
       .init = InitRule::kScaledOutput,
       .first_quarter = "post"},
      {.name = "res-post", .norm_out = true, .final_norm = true, .init = InitRule::kScaledOutput},
      {.name = "scaled",
       .norm_in = true,
       .b = BranchScale::kConstant,
       .final_norm = true,
       .init = InitRule::kScaledOutput},
      {.name = "inv-l",
       .norm_in = true,
       .b = BranchScale::kInverseDepth,
       .final_norm = true,
       .init = InitRule::kScaledOutput},
      {.name = "inv-sqrt-l",
       .norm_in = true,
       .b = BranchScale::kInverseSqrtDepth,
       .final_norm = true,
       .init = InitRule::kScaledOutput},
      {.name = "rezero", .b = BranchScale::kLearnedScalar},
      {.name = "layerscale",
       .norm_in = true,
       .b = BranchScale::kLearnedChannels,
       .final_norm = true,
       .init = InitRule::kScaledOutput},
      {.name = "keel", .norm_in = true, .combine = kPost, .a = StreamScale::kKeel},
      {.name = "orthogonal",
       .norm_in = true,
       .combine = kOrthogonal,
       .final_norm = true,
       .init = InitRule::kScaledOutput},
      {.name = "prores",
       .norm_in = true,
       .b = BranchScale::kStepWarmup,
       .final_norm = true,
       .init = InitRule::kScaledOutput},
  };
  return table;
}

const Placement& FindPlacement(std::string_view name) {
  for (const Placement& placement : PlacementTable()) {
    if (placement.name == name) return placement;
  }
  CHECK(false) << "no placement is called \"" << name << "\"";
  __builtin_unreachable();
}

}  // namespace normlab::model
