// One arm of bench-trainer: a preset under a placement, in our trainer and in eager PyTorch.
#ifndef NORMLAB_TESTS_BENCH_TRAINER_ARM_H_
#define NORMLAB_TESTS_BENCH_TRAINER_ARM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/run_config.h"
#include "model/train_loop.h"
#include "tests/bench/eager_peer.h"

namespace normlab::bench {

// A data set of random tokens below DIR, of as many as the preset's vocabulary has, and enough for
// the bench; returns its folder.
absl::StatusOr<std::string> MakeBenchDataset(const std::string& dir, const std::string& preset);

// What every arm of a preset trains: 8 sequences of 128 tokens a step, fp32, without warm-up, so
// that a few steps show in the loss.
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

  // After as many steps of either side: Internal when the losses of a step differ by more than fp32
  // explains. Those of the first step compare the models, later ones what training made of them.
  absl::Status CheckSameLosses() const;

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
  std::vector<double> losses_, eager_losses_;  // of each step
};

}  // namespace normlab::bench

#endif  // NORMLAB_TESTS_BENCH_TRAINER_ARM_H_
