// The control call of workers.
#include <algorithm>
#include <cmath>

#include "core/envelope.h"
#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/version.h"
#include "nlohmann/json.hpp"
#include "server/dispatch/dispatcher_impl.h"

namespace normlab::server {
namespace {

absl::Status CheckProtocol(const WorkerReport& report) {
  const int spoken = report.versions.protocol;
  if (spoken == kProtocolVersion || (spoken == kProtocolVersion - 1 && spoken > 0)) {
    return absl::OkStatus();
  }
  return FailedPrecondition("worker ", ToString(report.worker), " speaks protocol ", spoken,
                            ", this server ", kProtocolVersion, "; use the same normlab for both");
}

// What is left of a limit, never 0, which would mean that there is none.
int64_t LimitMs(double seconds, double used) {
  if (seconds <= 0) return 0;
  return std::max<int64_t>(1, std::llround((seconds - used) * 1000));
}

}  // namespace

absl::StatusOr<SyncReply> Dispatcher::Impl::Synchronize(const SyncRequest& request) {
  RETURN_IF_ERROR(CheckProtocol(request));
  if (!request.worker || !request.incarnation) {
    return InvalidArgument("a worker says its id and its incarnation");
  }
  Changed changed;
  absl::StatusOr<SyncReply> reply;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(HealthLocked());
    const Moment now = Now();
    Effects effects;
    const auto orders = scheduler_.OnReport(request, now.monotonic, effects);
    // Also when the call is refused: time has moved.
    RETURN_IF_ERROR(Commit(effects, now, changed));
    if (orders.ok()) {
      reply = ReplyOf(*orders);
    } else {
      reply = orders.status();
    }
  }
  Announce(changed);
  return reply;
}

absl::StatusOr<SyncReply> Dispatcher::Impl::ReplyOf(const WorkerOrders& orders) {
  SyncReply reply;
  reply.stop = orders.stop;
  reply.confirmed = orders.confirmed;
  reply.next_call_in_ms = absl::ToInt64Milliseconds(orders.next_call);
  for (const WorkerOrders::Wanted& wanted : orders.wanted) {
    const Run& run = *scheduler_.FindRun(wanted.run);
    const Attempt& attempt = *run.Find(wanted.attempt);
    DesiredAttempt& desired = reply.desired.emplace_back();
    desired.run = run.id;
    desired.attempt = attempt.number;
    desired.token = attempt.token;
    desired.time_limit_ms = LimitMs(run.budget.time_s, run.used_s);
    desired.stall_limit_ms = LimitMs(run.budget.stall_s, 0);
    desired.resume_dir = attempt.resume_dir;
    if (!wanted.send_envelope) continue;
    ASSIGN_OR_RETURN(desired.envelope_json, EnvelopeOf(run, attempt));
  }
  return reply;
}

absl::StatusOr<std::string> Dispatcher::Impl::EnvelopeOf(const Run& run, const Attempt& attempt) {
  ASSIGN_OR_RETURN(const LaunchFacts facts, store_.Launch(run.id));
  ASSIGN_OR_RETURN(const nlohmann::json config, ParseJson(facts.config));
  ASSIGN_OR_RETURN(const nlohmann::json stop, ParseJson(facts.stop));
  Envelope envelope;
  envelope.run = run.id;
  envelope.attempt = attempt.number;
  envelope.token = attempt.token;
  ASSIGN_OR_RETURN(envelope.config, RunConfig::FromJson(config));
  ASSIGN_OR_RETURN(envelope.stop, StopPolicyFromJson(stop));
  envelope.dataset.name = facts.data_name;
  envelope.dataset.sha256 = facts.data_sha256;
  if (attempt.parent) {
    Envelope::Resume resume;
    resume.step = attempt.start_step;
    resume.attempt = attempt.parent;
    envelope.resume = std::move(resume);
  }
  return DumpStrict(ToJson(envelope));
}

}  // namespace normlab::server
