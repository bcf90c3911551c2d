#include "model/hello_command.h"

#include <ATen/Context.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/version.h"
#include "model/environment.h"

namespace normlab::model {

absl::Status HelloCommand() {
  const nlohmann::json document = {{"build", kVersion},
                                   {"trainer_math", kTrainerMath},
                                   {"torch", TorchVersion()},
                                   {"isa", InstructionSet()},
                                   {"cuda", at::hasCUDA()}};
  std::printf("%s\n", DumpStrict(document).c_str());
  return absl::OkStatus();
}

}  // namespace normlab::model
