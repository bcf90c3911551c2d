#include "tests/bench/trainer_arm.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/clock.h"
#include "core/dataset_prepare.h"
#include "core/json.h"
#include "core/status.h"
#include "model/safetensors.h"

namespace normlab::bench {
namespace {

constexpr int64_t kTokens = 1 << 20;
constexpr double kLossTolerance = 1e-4;  // relative; sums over 50,304 logits in fp32

int64_t VocabOf(const std::string& preset) {
  return absl::StartsWith(preset, "gpt2") || absl::StartsWith(preset, "neox") ? 50304 : 256;
}

}  // namespace

absl::StatusOr<std::string> MakeBenchDataset(const std::string& dir, const std::string& preset) {
  const int64_t vocab = VocabOf(preset);
  std::string bytes;
  uint64_t state = 1;
  for (int64_t i = 0; i < kTokens; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto token = static_cast<uint16_t>((state >> 33) % static_cast<uint64_t>(vocab));
    bytes.push_back(static_cast<char>(token & 0xff));
    bytes.push_back(static_cast<char>(token >> 8));
  }
  PrepareOptions options;
  options.name = preset;
  options.datasets_dir = dir;
  options.files = {JoinPath(dir, preset + ".bin")};
  options.vocab = vocab;
  RETURN_IF_ERROR(WriteFileDurably(options.files[0], bytes));
  RETURN_IF_ERROR(PrepareDataset(options).status());
  return JoinPath(dir, preset);
}

absl::StatusOr<RunConfig> BenchConfig(const std::string& preset, const std::string& placement) {
  RunConfig config;
  const std::pair<const char*, std::string> settings[] = {
      {"model.preset", preset},  {"model.vocab", std::to_string(VocabOf(preset))},
      {"model.seq_len", "128"},  {"train.batch", "8"},
      {"train.steps", "100000"}, {"train.precision", "fp32"},
      {"train.warmup", "0"},     {"norm.placement", placement}};
  for (const auto& [key, text] : settings) RETURN_IF_ERROR(config.Parse(key, text));
  return config;
}

absl::StatusOr<std::unique_ptr<TrainerArm>> TrainerArm::Create(const RunConfig& config,
                                                               const std::string& data_dir,
                                                               const std::string& dir,
                                                               int threads) {
  std::unique_ptr<TrainerArm> arm(new TrainerArm);
  model::TrainSetup setup;
  setup.config = config;
  setup.data_dir = data_dir;
  setup.threads = threads;
  ASSIGN_OR_RETURN(arm->loop_, model::TrainLoop::Create(setup, arm->sink_, SystemClock()));
  std::vector<model::NamedTensor> weights;
  for (const model::Parameter& parameter : arm->loop_->parameters().all()) {
    weights.push_back({parameter.shape.name, parameter.value.detach()});
  }
  EagerPeerOptions eager;
  eager.config_json = DumpStrict(config.ToFlatJson());
  eager.weights_path = JoinPath(dir, config.Text("norm.placement") + ".safetensors");
  eager.data_dir = data_dir;
  eager.threads = threads;
  RETURN_IF_ERROR(model::WriteSafetensors(eager.weights_path, weights).status());
  ASSIGN_OR_RETURN(arm->eager_, EagerPeer::Start(eager));
  return arm;
}

void TrainerArm::StepOurs() {
  const auto result = loop_->Step(static_cast<int64_t>(losses_.size()) + 1);
  CHECK_OK(result.status());
  losses_.push_back(result->loss);
}

void TrainerArm::StepEager() {
  const auto loss = eager_->Step();
  CHECK_OK(loss.status());
  eager_losses_.push_back(*loss);
}

absl::Status TrainerArm::CheckSameLosses() const {
  CHECK(losses_.size() == eager_losses_.size());
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    if (std::abs(losses_[i] - eager_losses_[i]) <= kLossTolerance * std::abs(losses_[i])) continue;
    return absl::InternalError(absl::StrCat("the loss of step ", i + 1, " is ", losses_[i],
                                            " in our trainer and ", eager_losses_[i],
                                            " in eager PyTorch: not the same training"));
  }
  return absl::OkStatus();
}

}  // namespace normlab::bench
