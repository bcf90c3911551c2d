// The process around a run: threads, floating-point mode, and what is said about both.
#ifndef NORMLAB_MODEL_ENVIRONMENT_H_
#define NORMLAB_MODEL_ENVIRONMENT_H_

#include <c10/core/Device.h>

#include <string>

#include "absl/status/statusor.h"

namespace normlab::model {

// Instruction set of LibTorch's kernels on this CPU, and whether it has one for bf16: "avx2",
// "avx512+bf16", "default" … (core/instruction_set.h).
std::string InstructionSet();

// LibTorch's version, as "2.13.0".
std::string TorchVersion();

// "cpu" or "cuda:N". InvalidArgument for another name; Aborted when LibTorch finds no such device
// here (now): whoever assigned it must assign another.
absl::StatusOr<c10::Device> FindDevice(const std::string& name);

// Sets the number of compute threads and lets denormals be zero in all of them. Call once, before
// the first parallel operation: threads that exist already keep their floating-point mode.
// `deterministic` admits only kernels that give the same bits at every call.
void SetUpCompute(int threads, bool deterministic);

// Threads that wait must not spin: with one busy neighbour a spinning pool takes ten times as long.
// OpenMP reads this before main, so that the only way to set it is to start this program again,
// with the same arguments; a worker sets it for its trainers and saves them the second start.
// Returns where nothing is to be done.
void WaitPassively(char** argv);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_ENVIRONMENT_H_
