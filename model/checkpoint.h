// Checkpoints: immutable folders PARENT/STEP with
//   weights.safetensors     every parameter by its name
//   optimizer.safetensors   m.<parameter>, v.<parameter>
//   history.safetensors     train_loss, grad_norm: F64 [step], entry t − 1 is step t
//   state.json              step, identity, trainer_math, isa, threads, config, SHA-256 of the
//   files
// The data position needs no file: batches are a function of (seed.data, step). The history is what
// stop rules look back at, so that a resumed run stops exactly where an uninterrupted one would.
//
// A checkpoint is written under a temporary name, synced and renamed: a folder with a bare number
// for a name is complete. The one before stays until then.
#ifndef NORMLAB_MODEL_CHECKPOINT_H_
#define NORMLAB_MODEL_CHECKPOINT_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/record.h"
#include "model/optimizer.h"
#include "model/parameters.h"

namespace normlab::model {

// Says what a checkpoint belongs to and where it was made.
struct CheckpointOrigin {
  std::string identity;     // of the run (core/run_config.h)
  std::string config_json;  // the resolved config
  std::string isa;
  int threads = 1;
};

// All that changes while training.
struct TrainingState {
  int64_t step = 0;                // last finished one
  std::vector<double> train_loss;  // of every step so far
  std::vector<double> grad_norm;
};

// Writes PARENT/STEP and returns its registration; sha256 is that of state.json, which holds those
// of the other files.
absl::StatusOr<CheckpointRecord> WriteCheckpoint(const std::string& parent,
                                                 const CheckpointOrigin& origin,
                                                 const TrainingState& state,
                                                 const Parameters& parameters, AdamW& optimizer);

// Removes all but the newest `keep` complete checkpoints of PARENT, and left-over temporary ones.
absl::Status PruneCheckpoints(const std::string& parent, int64_t keep);

// Complete checkpoints in PARENT of steps up to `last_step`, newest first, as paths. Empty when the
// folder is not there.
std::vector<std::string> ListCheckpoints(const std::string& parent,
                                         int64_t last_step = std::numeric_limits<int64_t>::max());

struct LoadedCheckpoint {
  TrainingState state;
  std::string isa;
  int threads = 0;
};

// Checks the checksums, then loads into parameters and optimizer, which are untouched on error.
// DataLoss: damaged. FailedPrecondition: of another run or another trainer_math.
absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(const std::string& dir,
                                                const CheckpointOrigin& origin,
                                                Parameters& parameters, AdamW& optimizer);

// The weights alone of a checkpoint of any run, its files checked by their checksums.
absl::Status LoadWeights(const std::string& dir, Parameters& parameters);

// Copies tensors by name into the parameters. InvalidArgument for one that is missing, has another
// shape, or is none of the model's.
absl::Status LoadParameters(const std::string& path, Parameters& parameters);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_CHECKPOINT_H_
