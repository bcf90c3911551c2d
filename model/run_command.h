// `normlab-trainer run`: one run, for a worker (`--frames FD`) or for people (`--out DIR`).
#ifndef NORMLAB_MODEL_RUN_COMMAND_H_
#define NORMLAB_MODEL_RUN_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/outcome.h"

namespace normlab::model {

// `arguments` are those after the verb. An error is for people: a bad option, config or data set.
absl::StatusOr<TrainerExit> RunCommand(const std::vector<std::string>& arguments);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_RUN_COMMAND_H_
