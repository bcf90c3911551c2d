// `normlab-trainer intervene`: the intervention of intervention.h on given weights and tokens.
#ifndef NORMLAB_MODEL_INTERVENE_COMMAND_H_
#define NORMLAB_MODEL_INTERVENE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace normlab::model {

// --config FILE --tokens FILE [--weights FILE | --checkpoint DIR] [--step N] [--json]: prints, for
// each sublayer, σ_max by factor and the slope of ln σ_max on ln c. Reads the first train.batch
// sequences of the tokens, as `step` does; without weights, the initial ones of the config.
absl::Status InterveneCommand(const std::vector<std::string>& arguments);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_INTERVENE_COMMAND_H_
