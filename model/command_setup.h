// What the verbs share that need a model but no data set: `init`, `step`, `intervene`.
#ifndef NORMLAB_MODEL_COMMAND_SETUP_H_
#define NORMLAB_MODEL_COMMAND_SETUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/run_config.h"

namespace normlab::model {

// The config in that file. InvalidArgument when it is none or when it leaves model.vocab to a data
// set.
absl::StatusOr<RunConfig> ReadModelConfig(const std::string& path);

// All cores, and the kernels that train.deterministic admits.
void SetUpCommand(const RunConfig& config);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_COMMAND_SETUP_H_
