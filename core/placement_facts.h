#ifndef NORMLAB_CORE_PLACEMENT_FACTS_H_
#define NORMLAB_CORE_PLACEMENT_FACTS_H_

#include <string_view>
#include <vector>

namespace normlab {

// What the knob table has to know of a norm placement: which knobs mean something to it. (How it
// computes is the trainer's table.)
struct PlacementFacts {
  std::string_view name;
  bool norms = true;       // has a norm in every block without any option
  bool norm_out = false;   // a norm after the branch
  bool final_norm = true;  // default of norm.final
  bool sphere = false;     // geodesic update: alpha, retraction, angle clamp; no Δt
  bool decays = false;     // norm.decay
};

// In the order in which they are listed to people: the paper's six, then the extras.
const std::vector<PlacementFacts>& Placements();

// CHECK-fails for an unknown name: configs hold only names of the table.
const PlacementFacts& FindPlacementFacts(std::string_view name);

}  // namespace normlab

#endif  // NORMLAB_CORE_PLACEMENT_FACTS_H_
