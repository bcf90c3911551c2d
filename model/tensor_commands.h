// `normlab-trainer init` and `step`: what anyone needs to hold this trainer against their own code.
#ifndef NORMLAB_MODEL_TENSOR_COMMANDS_H_
#define NORMLAB_MODEL_TENSOR_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace normlab::model {

// --config FILE [--seed N] --out FILE: the initial weights. No data set is needed, only
// model.vocab.
absl::Status InitCommand(const std::vector<std::string>& arguments);

// --config FILE --weights FILE --tokens FILE --out FILE [--step N]: one forward and backward pass
// in the config's precision over the first train.batch sequences of seq_len + 1 tokens, laid end to
// end without overlap. Writes `loss` [], `logits` [B, T, V], `hidden.{s}` [B, T, d] before any
// final norm, and `grad.<parameter>`, of the mean loss and before clipping. No update.
absl::Status StepCommand(const std::vector<std::string>& arguments);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_TENSOR_COMMANDS_H_
