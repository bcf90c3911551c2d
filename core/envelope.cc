#include "core/envelope.h"

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab {

namespace {

using nlohmann::json;

absl::StatusOr<json> Part(const json& object, std::string_view key) {
  const auto it = object.find(key);
  if (it == object.end()) return InvalidArgument("'", key, "' is missing");
  return *it;
}

absl::StatusOr<Envelope::Dataset> DatasetFromJson(const json& document) {
  Envelope::Dataset dataset;
  ASSIGN_OR_RETURN(dataset.name, JsonText(document, "name"));
  ASSIGN_OR_RETURN(dataset.dir, JsonText(document, "dir"));
  ASSIGN_OR_RETURN(dataset.sha256, JsonText(document, "sha256"));
  return dataset;
}

absl::StatusOr<AttemptNumber> AttemptFromJson(const json& document) {
  ASSIGN_OR_RETURN(const int64_t attempt, JsonInt(document, "attempt"));
  return ParseAttemptNumber(Cat(attempt));
}

absl::StatusOr<std::optional<Envelope::Resume>> ResumeFromJson(const json& document) {
  if (document.is_null()) return std::optional<Envelope::Resume>();
  Envelope::Resume resume;
  ASSIGN_OR_RETURN(resume.dir, JsonText(document, "dir"));
  ASSIGN_OR_RETURN(resume.step, JsonInt(document, "step"));
  ASSIGN_OR_RETURN(resume.attempt, AttemptFromJson(document));
  // A server from before ancestors were told names none.
  for (const json& each : document.value("ancestors", json::array())) {
    Envelope::Resume::Ancestor& ancestor = resume.ancestors.emplace_back();
    ASSIGN_OR_RETURN(ancestor.attempt, AttemptFromJson(each));
    ASSIGN_OR_RETURN(ancestor.step, JsonInt(each, "step"));
  }
  return std::optional(std::move(resume));
}

json ToJson(const Envelope::Resume& resume) {
  json ancestors = json::array();
  for (const Envelope::Resume::Ancestor& ancestor : resume.ancestors) {
    ancestors.push_back({{"attempt", ancestor.attempt.value()}, {"step", ancestor.step}});
  }
  return {{"dir", resume.dir},
          {"step", resume.step},
          {"attempt", resume.attempt.value()},
          {"ancestors", ancestors}};
}

absl::Status ReadIds(const json& document, Envelope& envelope) {
  ASSIGN_OR_RETURN(const std::string run, JsonText(document, "run"));
  ASSIGN_OR_RETURN(envelope.run, ParseRunId(run));
  ASSIGN_OR_RETURN(envelope.attempt, AttemptFromJson(document));
  ASSIGN_OR_RETURN(const std::string token, JsonText(document, "token"));
  ASSIGN_OR_RETURN(envelope.token, ParseLeaseToken(token));
  return absl::OkStatus();
}

absl::Status ReadParts(const json& document, Envelope& envelope) {
  ASSIGN_OR_RETURN(const json config, Part(document, "config"));
  ASSIGN_OR_RETURN(envelope.config, RunConfig::FromJson(config));
  ASSIGN_OR_RETURN(const json stop, Part(document, "stop"));
  ASSIGN_OR_RETURN(envelope.stop, StopPolicyFromJson(stop));
  ASSIGN_OR_RETURN(const json dataset, Part(document, "dataset"));
  ASSIGN_OR_RETURN(envelope.dataset, DatasetFromJson(dataset));
  ASSIGN_OR_RETURN(const json resume, Part(document, "resume"));
  ASSIGN_OR_RETURN(envelope.resume, ResumeFromJson(resume));
  return absl::OkStatus();
}

}  // namespace

json ToJson(const Envelope& envelope) {
  const json resume = envelope.resume ? ToJson(*envelope.resume) : json(nullptr);
  return {{"protocol", envelope.protocol},
          {"run", ToString(envelope.run)},
          {"attempt", envelope.attempt.value()},
          {"token", ToString(envelope.token)},
          {"config", envelope.config.ToJson()},
          {"stop", ToJson(envelope.stop)},
          {"dataset",
           {{"name", envelope.dataset.name},
            {"dir", envelope.dataset.dir},
            {"sha256", envelope.dataset.sha256}}},
          {"resume", resume},
          {"threads", envelope.threads},
          {"device", envelope.device},
          {"checkpoint_dir", envelope.checkpoint_dir}};
}

absl::StatusOr<Envelope> EnvelopeFromJson(const json& document) {
  Envelope envelope;
  ASSIGN_OR_RETURN(const int64_t protocol, JsonInt(document, "protocol"));
  if (protocol != kProtocolVersion) {
    return FailedPrecondition("the envelope has protocol ", protocol, "; this program speaks ",
                              kProtocolVersion);
  }
  RETURN_IF_ERROR(AddContext(ReadIds(document, envelope), "envelope"));
  RETURN_IF_ERROR(AddContext(ReadParts(document, envelope), "envelope"));
  ASSIGN_OR_RETURN(const int64_t threads, JsonInt(document, "threads"));
  if (threads < 1) {
    return InvalidArgument("envelope: 'threads' should be at least 1, not ", threads);
  }
  envelope.threads = static_cast<int>(threads);
  ASSIGN_OR_RETURN(envelope.device, JsonText(document, "device"));
  ASSIGN_OR_RETURN(envelope.checkpoint_dir, JsonText(document, "checkpoint_dir"));
  return envelope;
}

}  // namespace normlab
