// One run, from its first step (or a checkpoint) to its end.
//
// Order of records: Hello, and the event not_bit_exact where a checkpoint of another instruction
// set or thread count is resumed; before step 1 an evaluation and profiles (step 0); then per step
// its Scalars and, where due, profiles of the step, evaluation, profiles of the activations after
// it, and checkpoint registration, in this order.
// Observing changes nothing: weights and losses are the same bits whatever is recorded.
#ifndef NORMLAB_MODEL_TRAIN_LOOP_H_
#define NORMLAB_MODEL_TRAIN_LOOP_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/detect/stop_policy.h"
#include "core/outcome.h"
#include "core/run_config.h"
#include "model/checkpoint.h"
#include "model/data_order.h"
#include "model/probes/step_probe.h"
#include "model/record_sink.h"
#include "model/schedule.h"
#include "model/shards.h"
#include "model/token_source.h"

namespace normlab::model {

struct TrainSetup {
  RunConfig config;
  StopPolicy stop;
  std::string data_dir;                  // of a prepared data set
  std::string dataset_sha256;            // what it must be; empty: whatever it is
  std::string checkpoint_dir;            // parent of STEP folders
  std::vector<std::string> resume_from;  // checkpoints to try in this order; empty: from scratch
  // When all of them are damaged or gone: from scratch, with a message, instead of an error.
  bool may_start_over = false;
  int threads = 1;
  std::string device = "cpu";
  bool composed_norms = false;  // the reference path of norm_ops.h
};

class TrainLoop {
 public:
  // Reads the data set's headers and makes or loads the weights. Errors are for people: bad data, a
  // checkpoint of another run. `sink` and `clock` must outlive the loop.
  static absl::StatusOr<std::unique_ptr<TrainLoop>> Create(const TrainSetup& setup,
                                                           RecordSink& sink, Clock& clock);

  // Trains to the end. `stop_requested` is asked once a step; true means checkpoint and kPreempted.
  // An error is the sink's, the disk's or the data's.
  absl::StatusOr<TrainerExit> Run(const std::function<bool()>& stop_requested);

  // One step, from 1: gradients, clipping, update. Run() is made of these; benches time them alone.
  struct StepResult {
    double loss, grad_norm, lr;
  };
  absl::StatusOr<StepResult> Step(int64_t step);

  const TrainingState& state() const { return state_; }
  const Parameters& parameters() const { return parameters_; }
  AdamW& optimizer() { return optimizer_; }

 private:
  TrainLoop(const TrainSetup& setup, const ModelSpec& spec, at::Device device, TokenSource train,
            TokenSource val, const std::string& dataset_sha256, RecordSink& sink, Clock& clock);
  absl::Status Resume();
  void NoteOrigin(const LoadedCheckpoint& loaded);
  absl::Status SayHello();
  absl::StatusOr<double> AccumulateGradients(int64_t step);
  absl::Status RecordStep(int64_t step, const StepResult& result);
  absl::Status ReportNonfinite(int64_t step, const StepResult& result);
  absl::Status ReportZeroRows(int64_t step);
  // Evaluation and probes, where they are due after `step` (0: before the first).
  absl::Status ObserveAt(int64_t step);
  const Transformer& model() const { return sharded_.model(); }
  absl::Status WriteAll(const std::vector<ProfileRecord>& profiles);
  // How many sequences of val.bin every evaluation reads.
  int64_t EvaluationSequences() const;
  absl::Status CheckpointAt(int64_t step);
  bool Due(std::string_view key, int64_t step) const;
  bool ProbeDue(int64_t step) const;

  TrainSetup setup_;
  RecordSink& sink_;
  Clock& clock_;
  TokenSource train_, val_;
  DataOrder order_;
  Schedule schedule_;
  Parameters parameters_;
  AdamW optimizer_;
  ShardedModel sharded_;
  std::optional<StepProbe> step_probe_;  // of the current step, where a probe is due
  CheckpointOrigin origin_;
  TrainingState state_;
  StopWatch watch_;
  std::optional<std::string> stop_rule_;
  std::optional<EventRecord> not_bit_exact_;  // where a resume continued another machine's numbers
  int64_t steps_, batch_, micro_batch_;
  int64_t start_step_ = 0;
  int64_t clipped_steps_ = 0;
  bool nonfinite_seen_ = false;
  absl::Time mark_;  // since when the current step's tokens are timed
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_TRAIN_LOOP_H_
