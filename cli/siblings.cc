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

std::string TokenizerPath(const std::string& program) {
  return std::filesystem::path(program).replace_filename("normlab-tokenizer").string();
}

}  // namespace normlab::cli
