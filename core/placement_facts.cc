#include "core/placement_facts.h"

#include "core/check.h"

namespace normlab {

const std::vector<PlacementFacts>& Placements() {
  static const std::vector<PlacementFacts>* const table = new std::vector<PlacementFacts>{
      {.name = "post", .final_norm = false},
      {.name = "pre"},
      {.name = "peri", .norm_out = true},
      {.name = "sandwich", .norm_out = true},
      {.name = "deep", .final_norm = false},
      {.name = "geo", .norms = false, .final_norm = false, .sphere = true, .decays = true},
      {.name = "lns"},
      {.name = "mix"},
      {.name = "res-post", .norm_out = true},
      {.name = "scaled"},
      {.name = "inv-l"},
      {.name = "inv-sqrt-l"},
      {.name = "rezero", .norms = false, .final_norm = false},
      {.name = "layerscale"},
      {.name = "keel", .final_norm = false},
      {.name = "orthogonal"},
      {.name = "sphere", .norms = false, .final_norm = false, .sphere = true},
      {.name = "prores"},
      {.name = "geo-affine", .norms = false, .final_norm = false, .sphere = true, .decays = true},
  };
  return *table;
}

const PlacementFacts& FindPlacementFacts(std::string_view name) {
  for (const PlacementFacts& facts : Placements()) {
    if (facts.name == name) return facts;
  }
  CHECK(false) << "no placement is called " << name;
  return Placements().front();
}

}  // namespace normlab
