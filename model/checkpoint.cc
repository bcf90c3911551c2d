#include "model/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/status.h"
#include "core/version.h"
#include "model/safetensors.h"

namespace normlab::model {
namespace {

using nlohmann::json;
using TensorMap = std::map<std::string, at::Tensor>;

constexpr char kFormat[] = "normlab.checkpoint.v1";
constexpr char kWeights[] = "weights.safetensors";
constexpr char kOptimizer[] = "optimizer.safetensors";
constexpr char kHistory[] = "history.safetensors";
constexpr char kState[] = "state.json";
constexpr char kTemporary[] = ".tmp";

std::vector<NamedTensor> NamedViews(const Parameters& parameters, const at::Tensor& flat,
                                    const std::string& prefix) {
  std::vector<NamedTensor> out;
  for (const Parameter& parameter : parameters.all()) {
    out.push_back({prefix + parameter.shape.name, parameters.ViewOf(flat, parameter)});
  }
  return out;
}

at::Tensor SeriesTensor(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble);
}

absl::StatusOr<json> WriteTensorFiles(const std::string& dir, const TrainingState& state,
                                      const Parameters& parameters, AdamW& optimizer) {
  std::vector<NamedTensor> moments = NamedViews(parameters, optimizer.m(), "m.");
  for (NamedTensor& tensor : NamedViews(parameters, optimizer.v(), "v.")) {
    moments.push_back(std::move(tensor));
  }
  const std::pair<const char*, std::vector<NamedTensor>> files[] = {
      {kWeights, NamedViews(parameters, parameters.values(), "")},
      {kOptimizer, moments},
      {kHistory,
       {{"train_loss", SeriesTensor(state.train_loss)},
        {"grad_norm", SeriesTensor(state.grad_norm)}}}};
  json digests = json::object();
  for (const auto& [name, tensors] : files) {
    ASSIGN_OR_RETURN(const FileDigest digest, WriteSafetensors(JoinPath(dir, name), tensors));
    digests[name] = {{"sha256", digest.sha256}, {"bytes", digest.bytes}};
  }
  return digests;
}

// The step of a folder's name; −1 for any other name.
int64_t StepOfName(const std::string& name) {
  int64_t step = -1;
  const bool digits = std::all_of(name.begin(), name.end(), [](char c) { return isdigit(c); });
  return digits && absl::SimpleAtoi(name, &step) ? step : -1;
}

absl::Status CheckFiles(const std::string& dir, const json& digests) {
  for (const auto& [name, digest] : digests.items()) {
    ASSIGN_OR_RETURN(const std::string expected, JsonText(digest, "sha256"));
    ASSIGN_OR_RETURN(const std::string found, Sha256File(JoinPath(dir, name)));
    if (found != expected) {
      return absl::DataLossError(absl::StrCat(dir, ": ", name, " is damaged (its SHA-256 is ",
                                              found.substr(0, 12), "…, not ",
                                              expected.substr(0, 12), "…)"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<json> ReadState(const std::string& dir) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(JoinPath(dir, kState)));
  absl::StatusOr<json> document = ParseJson(text);
  if (!document.ok()) return absl::DataLossError(absl::StrCat(dir, ": state.json is damaged"));
  if (!document->contains("files")) {
    return absl::DataLossError(absl::StrCat(dir, ": state.json names no files"));
  }
  return document;
}

absl::Status CheckOrigin(const std::string& dir, const json& state,
                         const CheckpointOrigin& origin) {
  ASSIGN_OR_RETURN(const std::string format, JsonText(state, "format"));
  if (format != kFormat) {
    return absl::FailedPreconditionError(absl::StrCat(dir, ": format ", format, ", not ", kFormat));
  }
  ASSIGN_OR_RETURN(const int64_t math, JsonInt(state, "trainer_math"));
  ASSIGN_OR_RETURN(const std::string identity, JsonText(state, "identity"));
  if (math != kTrainerMath || identity != origin.identity) {
    return absl::FailedPreconditionError(
        absl::StrCat(dir, ": belongs to run ", identity, " (trainer_math ", math, "), not to ",
                     origin.identity, " (trainer_math ", kTrainerMath, ")"));
  }
  return absl::OkStatus();
}

// Copies tensors[prefix + name] into the flat buffer.
absl::Status CopyByName(const TensorMap& tensors, const std::string& prefix,
                        const Parameters& parameters, const at::Tensor& flat) {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters.all()) {
    const std::string name = prefix + parameter.shape.name;
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no tensor ", name));
    }
    const at::Tensor view = parameters.ViewOf(flat, parameter);
    if (found->second.sizes() != view.sizes()) {
      return absl::InvalidArgumentError(absl::StrCat(name, " has the shape ",
                                                     c10::str(found->second.sizes()), ", not ",
                                                     c10::str(view.sizes())));
    }
    view.copy_(found->second);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> ReadSeries(const TensorMap& tensors, const std::string& name,
                                               int64_t step) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.numel() != step) {
    return absl::DataLossError(
        absl::StrCat("history of ", name, " does not cover ", step, " steps"));
  }
  const double* values = found->second.const_data_ptr<double>();
  return std::vector<double>(values, values + step);
}

}  // namespace

absl::StatusOr<CheckpointRecord> WriteCheckpoint(const std::string& parent,
                                                 const CheckpointOrigin& origin,
                                                 const TrainingState& state,
                                                 const Parameters& parameters, AdamW& optimizer) {
  const std::string dir = JoinPath(parent, absl::StrCat(state.step));
  const std::string temporary = absl::StrCat(dir, kTemporary);
  RETURN_IF_ERROR(RemoveAll(temporary));
  RETURN_IF_ERROR(MakeDirs(temporary));
  ASSIGN_OR_RETURN(const json digests, WriteTensorFiles(temporary, state, parameters, optimizer));
  ASSIGN_OR_RETURN(const json config, ParseJson(origin.config_json));
  const json document = {{"format", kFormat},
                         {"step", state.step},
                         {"identity", origin.identity},
                         {"trainer_math", kTrainerMath},
                         {"isa", origin.isa},
                         {"threads", origin.threads},
                         {"config", config},
                         {"files", digests}};
  const std::string text = DumpStrict(document);
  RETURN_IF_ERROR(WriteFileDurably(JoinPath(temporary, kState), text));
  RETURN_IF_ERROR(SyncDir(temporary));
  RETURN_IF_ERROR(RemoveAll(dir));  // left by an earlier try of the same step
  RETURN_IF_ERROR(RenameFile(temporary, dir));
  RETURN_IF_ERROR(SyncDir(parent));
  CheckpointRecord record;
  record.step = state.step;
  record.dir = dir;
  record.sha256 = Sha256Hex(text);
  record.bytes = static_cast<int64_t>(text.size());
  for (const auto& [name, digest] : digests.items()) record.bytes += digest["bytes"].get<int64_t>();
  return record;
}

std::vector<std::string> ListCheckpoints(const std::string& parent, int64_t last_step) {
  const absl::StatusOr<std::vector<std::string>> names = ListDir(parent);
  if (!names.ok()) return {};
  std::vector<int64_t> steps;
  for (const std::string& name : *names) {
    const int64_t step = StepOfName(name);
    if (step >= 0 && step <= last_step) steps.push_back(step);
  }
  std::sort(steps.rbegin(), steps.rend());
  std::vector<std::string> dirs;
  for (const int64_t step : steps) dirs.push_back(JoinPath(parent, absl::StrCat(step)));
  return dirs;
}

absl::Status PruneCheckpoints(const std::string& parent, int64_t keep) {
  const std::vector<std::string> dirs = ListCheckpoints(parent);
  for (size_t i = static_cast<size_t>(keep); i < dirs.size(); ++i) {
    RETURN_IF_ERROR(RemoveAll(dirs[i]));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDir(parent));
  for (const std::string& name : names) {
    const size_t end = name.rfind(kTemporary);
    if (end != std::string::npos && end + sizeof kTemporary - 1 == name.size()) {
      RETURN_IF_ERROR(RemoveAll(JoinPath(parent, name)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(const std::string& dir,
                                                const CheckpointOrigin& origin,
                                                Parameters& parameters, AdamW& optimizer) {
  ASSIGN_OR_RETURN(const json document, ReadState(dir));
  RETURN_IF_ERROR(CheckOrigin(dir, document, origin));
  RETURN_IF_ERROR(CheckFiles(dir, document["files"]));
  ASSIGN_OR_RETURN(const TensorMap weights, ReadSafetensors(JoinPath(dir, kWeights)));
  ASSIGN_OR_RETURN(const TensorMap moments, ReadSafetensors(JoinPath(dir, kOptimizer)));
  ASSIGN_OR_RETURN(const TensorMap history, ReadSafetensors(JoinPath(dir, kHistory)));
  LoadedCheckpoint loaded;
  ASSIGN_OR_RETURN(loaded.state.step, JsonInt(document, "step"));
  ASSIGN_OR_RETURN(loaded.state.train_loss, ReadSeries(history, "train_loss", loaded.state.step));
  ASSIGN_OR_RETURN(loaded.state.grad_norm, ReadSeries(history, "grad_norm", loaded.state.step));
  ASSIGN_OR_RETURN(loaded.isa, JsonText(document, "isa"));
  ASSIGN_OR_RETURN(const int64_t threads, JsonInt(document, "threads"));
  loaded.threads = static_cast<int>(threads);
  RETURN_IF_ERROR(CopyByName(weights, "", parameters, parameters.values()));
  RETURN_IF_ERROR(CopyByName(moments, "m.", parameters, optimizer.m()));
  RETURN_IF_ERROR(CopyByName(moments, "v.", parameters, optimizer.v()));
  parameters.RefreshShadows();
  return loaded;
}

absl::Status LoadWeights(const std::string& dir, Parameters& parameters) {
  ASSIGN_OR_RETURN(const json document, ReadState(dir));
  RETURN_IF_ERROR(CheckFiles(dir, document["files"]));
  return LoadParameters(JoinPath(dir, kWeights), parameters);
}

absl::Status LoadParameters(const std::string& path, Parameters& parameters) {
  ASSIGN_OR_RETURN(const TensorMap tensors, ReadSafetensors(path));
  RETURN_IF_ERROR(AddContext(CopyByName(tensors, "", parameters, parameters.values()), path));
  parameters.RefreshShadows();
  if (tensors.size() > parameters.all().size()) {
    for (const auto& [name, tensor] : tensors) {
      if (!parameters.Find(name).defined()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": the model has no parameter ", name));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace normlab::model
