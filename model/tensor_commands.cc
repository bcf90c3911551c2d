#include "model/tensor_commands.h"

#include <ATen/ATen.h>

#include "absl/strings/str_cat.h"
#include "core/run_config.h"
#include "core/status.h"
#include "model/checkpoint.h"
#include "model/command_line.h"
#include "model/command_setup.h"
#include "model/init.h"
#include "model/safetensors.h"
#include "model/token_source.h"
#include "model/transformer.h"

namespace normlab::model {
namespace {

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
  ASSIGN_OR_RETURN(RunConfig config, ReadModelConfig(options.Text("config")));
  if (options.Has("seed")) RETURN_IF_ERROR(config.Parse("seed.init", options.Text("seed")));
  SetUpCommand(config);
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
  ASSIGN_OR_RETURN(const RunConfig config, ReadModelConfig(options.Text("config")));
  SetUpCommand(config);
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
