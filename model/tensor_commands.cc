#include "model/tensor_commands.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/json.h"
#include "core/run_config.h"
#include "core/status.h"
#include "model/checkpoint.h"
#include "model/command_line.h"
#include "model/environment.h"
#include "model/init.h"
#include "model/safetensors.h"
#include "model/token_source.h"
#include "model/transformer.h"

namespace normlab::model {
namespace {

absl::StatusOr<RunConfig> ReadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const absl::StatusOr<nlohmann::json> document = ParseJson(text);
  if (!document.ok()) return AddContext(document.status(), path);
  ASSIGN_OR_RETURN(RunConfig config, RunConfig::FromJson(*document));
  if (config.Int("model.vocab") == 0) {
    return absl::InvalidArgumentError("model.vocab: needed here, since there is no data set");
  }
  return config;
}

void SetUp(const RunConfig& config) {
  SetUpCompute(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())),
               config.Bool("train.deterministic"));
}

std::vector<NamedTensor> Results(const Parameters& parameters, const Tape& tape,
                                 const at::Tensor& logits, const at::Tensor& loss) {
  std::vector<NamedTensor> out = {{"loss", loss}, {"logits", logits}};
  for (size_t s = 0; s < tape.hidden.size(); ++s) {
    out.push_back({absl::StrCat("hidden.", s), tape.hidden[s]});
  }
  for (const Parameter& parameter : parameters.all()) {
    out.push_back(
        {"grad." + parameter.shape.name, parameters.ViewOf(parameters.grads(), parameter)});
  }
  return out;
}

}  // namespace

absl::Status InitCommand(const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const Options options,
                   Options::Parse(arguments, {{"config", true}, {"seed"}, {"out", true}}));
  ASSIGN_OR_RETURN(RunConfig config, ReadConfig(options.Text("config")));
  if (options.Has("seed")) RETURN_IF_ERROR(config.Parse("seed.init", options.Text("seed")));
  SetUp(config);
  const ModelSpec spec = MakeModelSpec(config, 0);
  Parameters parameters(spec);
  InitialiseParameters(spec, parameters);
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : parameters.all()) {
    tensors.push_back({parameter.shape.name, parameter.value});
  }
  return WriteSafetensors(options.Text("out"), tensors).status();
}

absl::Status StepCommand(const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const Options options, Options::Parse(arguments, {{"config", true},
                                                                     {"weights", true},
                                                                     {"tokens", true},
                                                                     {"out", true},
                                                                     {"step"},
                                                                     {"composed-norms", false,
                                                                      /*is_switch=*/true}}));
  ASSIGN_OR_RETURN(const RunConfig config, ReadConfig(options.Text("config")));
  SetUp(config);
  ModelSpec spec = MakeModelSpec(config, 0);
  spec.composed_norms = options.Has("composed-norms");
  Parameters parameters(spec);
  RETURN_IF_ERROR(LoadParameters(options.Text("weights"), parameters));
  ASSIGN_OR_RETURN(const TokenSource source,
                   TokenSource::Open(options.Text("tokens"), spec.seq_len, spec.vocab));
  ASSIGN_OR_RETURN(const Batch batch, source.ReadApart(config.Int("train.batch")));
  const Transformer model(spec, parameters);
  Tape tape;
  ForwardOptions forward;
  forward.tape = &tape;
  ASSIGN_OR_RETURN(forward.step, options.Int("step", 1));
  const at::Tensor logits = model.Forward(batch.inputs, forward);
  const at::Tensor loss =
      CrossEntropySum(logits, batch.targets) / static_cast<double>(batch.targets.numel());
  loss.backward();
  return WriteSafetensors(options.Text("out"), Results(parameters, tape, logits, loss)).status();
}

}  // namespace normlab::model
