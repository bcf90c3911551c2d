#include "model/intervene_command.h"

#include <ATen/ATen.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/status.h"
#include "model/checkpoint.h"
#include "model/command_line.h"
#include "model/command_setup.h"
#include "model/init.h"
#include "model/intervention.h"
#include "model/token_source.h"

namespace normlab::model {
namespace {

using nlohmann::json;

const char* NameOf(Branch branch) { return branch == Branch::kAttention ? "attn" : "ffn"; }

absl::Status FillParameters(const Options& options, const ModelSpec& spec, Parameters& parameters) {
  if (options.Has("weights") && options.Has("checkpoint")) {
    return absl::InvalidArgumentError("--weights and --checkpoint: only one of them");
  }
  if (options.Has("checkpoint")) return LoadWeights(options.Text("checkpoint"), parameters);
  if (options.Has("weights")) return LoadParameters(options.Text("weights"), parameters);
  InitialiseParameters(spec, parameters);
  return absl::OkStatus();
}

void PrintJson(const ModelSpec& spec, const std::vector<Intervention>& results) {
  json rows = json::array();
  for (const Intervention& result : results) {
    json sigma = json::array();
    for (const double value : result.sigma_max) sigma.push_back(NumberOrMarker(value));
    rows.push_back({{"sublayer", result.sublayer},
                    {"branch", NameOf(result.branch)},
                    {"sigma_max", sigma},
                    {"slope", NumberOrMarker(result.slope)}});
  }
  const json document = {{"schema", "normlab.intervention.v1"},
                         {"placement", spec.placement},
                         {"factors", kInterventionFactors},
                         {"sublayers", rows}};
  std::printf("%s\n", DumpStrict(document).c_str());
}

void PrintTable(const std::vector<Intervention>& results) {
  std::printf("%-8s %-6s", "sublayer", "branch");
  for (const double factor : kInterventionFactors) std::printf(" %9s%-4g", "c = ", factor);
  std::printf(" %8s\n", "slope");
  for (const Intervention& result : results) {
    std::printf("%-8d %-6s", static_cast<int>(result.sublayer), NameOf(result.branch));
    for (const double sigma : result.sigma_max) std::printf(" %13.6g", sigma);
    std::printf(" %8.4f\n", result.slope);
  }
}

}  // namespace

absl::Status InterveneCommand(const std::vector<std::string>& arguments) {
  constexpr bool kSwitch = true;
  ASSIGN_OR_RETURN(const Options options, Options::Parse(arguments, {{"config", true},
                                                                     {"tokens", true},
                                                                     {"weights"},
                                                                     {"checkpoint"},
                                                                     {"step"},
                                                                     {"json", false, kSwitch}}));
  ASSIGN_OR_RETURN(const RunConfig config, ReadModelConfig(options.Text("config")));
  ASSIGN_OR_RETURN(const int64_t step, options.Int("step", 1));
  SetUpCommand(config);
  const ModelSpec spec = MakeModelSpec(config, 0);
  Parameters parameters(spec);
  RETURN_IF_ERROR(FillParameters(options, spec, parameters));
  ASSIGN_OR_RETURN(const TokenSource source,
                   TokenSource::Open(options.Text("tokens"), spec.seq_len, spec.vocab));
  ASSIGN_OR_RETURN(const Batch batch, source.ReadApart(config.Int("train.batch")));
  const std::vector<Intervention> results =
      ScaleOutputProjections(spec, parameters, batch.inputs, step);
  if (options.Has("json")) {
    PrintJson(spec, results);
  } else {
    PrintTable(results);
  }
  return absl::OkStatus();
}

}  // namespace normlab::model
