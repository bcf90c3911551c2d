// `normlab-trainer hello`: who this trainer is, for the worker that will run it.
#ifndef NORMLAB_MODEL_HELLO_COMMAND_H_
#define NORMLAB_MODEL_HELLO_COMMAND_H_

#include "absl/status/status.h"

namespace normlab::model {

// Prints one line of JSON: build, trainer_math, torch, isa, cuda.
absl::Status HelloCommand();

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_HELLO_COMMAND_H_
