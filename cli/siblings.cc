#include "cli/siblings.h"

#include <cstdlib>
#include <filesystem>

namespace normlab::cli {

std::string TrainerPath(const std::string& program) {
  if (const char* given = std::getenv("NORMLAB_TRAINER"); given != nullptr && *given != '\0') {
    return given;
  }
  return std::filesystem::path(program).replace_filename("normlab-trainer").string();
}

}  // namespace normlab::cli
