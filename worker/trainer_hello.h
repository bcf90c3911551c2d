#ifndef NORMLAB_WORKER_TRAINER_HELLO_H_
#define NORMLAB_WORKER_TRAINER_HELLO_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/control.pb.h"

namespace normlab::worker {

// Our hello, with what `TRAINER hello` says about itself. When the trainer cannot be asked,
// trainer_error says why: the worker then connects all the same, so that people see the reason.
// Takes as long as LibTorch takes to load.
v1::Hello AskTrainer(const std::string& trainer_path);

// Runs a program to its end and gives back its standard output. FailedPrecondition with the exit
// code when that is not 0, else the errors of Subprocess::Start.
absl::StatusOr<std::string> OutputOf(std::vector<std::string> argv);

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_TRAINER_HELLO_H_
