#include "model/command_setup.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/file.h"
#include "core/json.h"
#include "core/status.h"
#include "model/environment.h"

namespace normlab::model {

absl::StatusOr<RunConfig> ReadModelConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const absl::StatusOr<nlohmann::json> document = ParseJson(text);
  if (!document.ok()) return AddContext(document.status(), path);
  ASSIGN_OR_RETURN(RunConfig config, RunConfig::FromJson(*document));
  if (config.Int("model.vocab") == 0) {
    return absl::InvalidArgumentError("model.vocab: needed here, since there is no data set");
  }
  return config;
}

void SetUpCommand(const RunConfig& config) {
  SetUpCompute(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())),
               config.Bool("train.deterministic"));
}

}  // namespace normlab::model
