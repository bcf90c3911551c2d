#include "server/rpc/convert.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace normlab::server {
namespace {

struct AttemptIds {
  RunId run;
  AttemptNumber attempt;
  LeaseToken token;
};

// Every message about an attempt names it by these three.
template <typename Message>
absl::StatusOr<AttemptIds> IdsOf(const Message& message) {
  if (message.run() <= 0 || message.attempt() <= 0 || message.token() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("no attempt has run ", message.run(),
                                                   ", attempt ", message.attempt(), ", token ",
                                                   message.token()));
  }
  return AttemptIds{RunId(message.run()), AttemptNumber(message.attempt()),
                    LeaseToken(message.token())};
}

WorkerVersions VersionsOf(const v1::Hello& hello) {
  WorkerVersions versions;
  versions.protocol = hello.protocol();
  versions.build = hello.build();
  versions.trainer_build = hello.trainer_build();
  versions.trainer_math = hello.trainer_math();
  versions.torch = hello.torch();
  versions.isa = hello.isa();
  versions.trainer_error = hello.trainer_error();
  return versions;
}

WorkerResources ResourcesOf(const v1::Resources& message) {
  WorkerResources resources;
  resources.host = message.host();
  resources.slots = message.slots();
  resources.cpus = message.cpus();
  resources.memory_bytes = message.memory_bytes();
  for (const v1::Gpu& gpu : message.gpus()) {
    resources.gpus.push_back({gpu.id(), gpu.name(), gpu.memory_bytes()});
  }
  return resources;
}

}  // namespace

absl::StatusOr<SyncRequest> FromWire(const v1::SynchronizeRequest& message) {
  if (message.worker_id().empty() || message.incarnation().empty()) {
    return absl::InvalidArgumentError("a worker has an id and an incarnation");
  }
  SyncRequest request;
  request.worker = WorkerId(message.worker_id());
  request.incarnation = Incarnation(message.incarnation());
  request.versions = VersionsOf(message.hello());
  request.resources = ResourcesOf(message.resources());
  request.store_id = message.store_id();
  request.draining = message.draining();
  request.local = message.local();
  for (const v1::HeldAttempt& each : message.held()) {
    ASSIGN_OR_RETURN(const AttemptIds ids, IdsOf(each));
    HeldReport held;
    held.run = ids.run;
    held.attempt = ids.attempt;
    held.token = ids.token;
    held.finished = each.state() == v1::HeldAttempt::FINISHED;
    held.last_seq = each.last_seq();
    held.last_step = each.last_step();
    request.held.push_back(held);
  }
  return request;
}

absl::StatusOr<AppendRequest> FromWire(const v1::AppendRequest& message) {
  ASSIGN_OR_RETURN(const AttemptIds ids, IdsOf(message));
  if (message.first_seq() == 0) return absl::InvalidArgumentError("records are counted from 1");
  AppendRequest request;
  request.token = ids.token;
  request.run = ids.run;
  request.attempt = ids.attempt;
  request.first_seq = message.first_seq();
  request.records.assign(message.records().begin(), message.records().end());
  return request;
}

SubmitRequest FromWire(const v1::SubmitRequest& message) {
  SubmitRequest request;
  request.spec_json = message.spec_json();
  request.client_key = message.client_key();
  request.fresh = message.fresh();
  request.dry_run = message.dry_run();
  request.max_failures = message.max_failures();
  return request;
}

v1::SynchronizeReply ToWire(const SyncReply& reply) {
  v1::SynchronizeReply message;
  for (const DesiredAttempt& each : reply.desired) {
    v1::DesiredAttempt* desired = message.add_desired();
    desired->set_run(each.run.value());
    desired->set_attempt(each.attempt.value());
    desired->set_token(each.token.value());
    desired->set_envelope_json(each.envelope_json);
    desired->set_time_limit_ms(each.time_limit_ms);
    desired->set_stall_limit_ms(each.stall_limit_ms);
    desired->set_resume_dir(each.resume_dir);
  }
  for (const StopOrder& each : reply.stop) {
    v1::StopAttempt* stop = message.add_stop();
    stop->set_token(each.token.value());
    stop->set_reason(std::string(ToString(each.reason)));
  }
  for (const LeaseToken token : reply.confirmed) message.add_confirmed(token.value());
  message.set_next_call_in_ms(reply.next_call_in_ms);
  return message;
}

}  // namespace normlab::server
