// One arm of bench-trainer: a preset under a placement, in our trainer and in eager PyTorch.
#ifndef NORMLAB_TESTS_BENCH_TRAINER_ARM_H_
#define NORMLAB_TESTS_BENCH_TRAINER_ARM_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/run_config.h"
#include "model/train_loop.h"
#include "tests/bench/eager_peer.h"

namespace normlab::bench {

// A data set of random tokens below DIR, of as many as the preset's vocabulary has, and enough for
// the bench; returns its folder.
absl::StatusOr<std::string> MakeBenchDataset(const std::string& dir, const std::string& preset);

// What every arm of a preset trains: 8 sequences of 128 tokens a step, fp32.
absl::StatusOr<RunConfig> BenchConfig(const std::string& preset, const std::string& placement);

class TrainerArm {
 public:
  // `dir` takes the weights that both sides start from.
  static absl::StatusOr<std::unique_ptr<TrainerArm>> Create(const RunConfig& config,
                                                            const std::string& data_dir,
                                                            const std::string& dir, int threads);

  // One step of either side; CHECK-fails when it cannot be done.
  void StepOurs();
  void StepEager();

  // Trains a step on both sides and compares: Internal when the losses differ by more than fp32
  // explains, for then the two do not train the same model.
  absl::Status CheckSameModel();

  model::TrainLoop& loop() { return *loop_; }

 private:
  class NoSink : public model::RecordSink {
   public:
    absl::Status Write(const Record&) override { return absl::OkStatus(); }
    absl::Status Sync() override { return absl::OkStatus(); }
  };

  NoSink sink_;
  std::unique_ptr<model::TrainLoop> loop_;
  std::unique_ptr<EagerPeer> eager_;
  int64_t step_ = 0;
  double loss_ = 0;
  double eager_loss_ = 0;
};

}  // namespace normlab::bench

#endif  // NORMLAB_TESTS_BENCH_TRAINER_ARM_H_
