#ifndef NORMLAB_CLI_PROGRAM_OUTPUT_H_
#define NORMLAB_CLI_PROGRAM_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace normlab::cli {

// Runs a program to its end and gives back what it printed on standard output, without the last
// line break. An exit code other than 0 is Internal and carries the first line it said.
absl::StatusOr<std::string> ProgramOutput(const std::vector<std::string>& argv);

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_PROGRAM_OUTPUT_H_
