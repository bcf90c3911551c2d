// Initial weights. Every entry is std × normal(position), the normals drawn by counter from
// (seed.init, "init/" + parameter name): arms whose shapes agree start from the same normals, and
// from the same weights where their deviations agree too. Biases are 0, gains 1.
//
// Schemes (L blocks, width d; "output projections" are attn.out and ffn.down):
//   placement   each placement as in its paper: see InitRule
//   gpt2        init.std everywhere, output projections ÷ √(2L)
//   small-wang  √(2/(5d)), output projections 2/(L√d); token and position tables init.std
//   xavier      √(2/(fan_in + fan_out)), q, k, v apart; tables and head init.std
#ifndef NORMLAB_MODEL_INIT_H_
#define NORMLAB_MODEL_INIT_H_

#include <string>

#include "model/model_spec.h"
#include "model/parameters.h"

namespace normlab::model {

// Fills all parameters.
void InitialiseParameters(const ModelSpec& spec, Parameters& parameters);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_INIT_H_
