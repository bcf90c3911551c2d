#ifndef NORMLAB_CLI_SIBLINGS_H_
#define NORMLAB_CLI_SIBLINGS_H_

#include <string>

namespace normlab::cli {

// The trainer's path: $NORMLAB_TRAINER, else beside `program`. It may not exist.
std::string TrainerPath(const std::string& program);
// Path of normlab-tokenizer, beside `program`.
std::string TokenizerPath(const std::string& program);

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_SIBLINGS_H_
