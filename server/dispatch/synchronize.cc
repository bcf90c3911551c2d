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

absl::StatusOr<SyncReply> Dispatcher::Impl::Synchronize(const SyncRequest& request,
                                                        const Patience& patience) {
  RETURN_IF_ERROR(CheckProtocol(request));
  if (!request.worker || !request.incarnation) {
    return InvalidArgument("a worker says its id and its incarnation");
  }
  Call call{request, patience, 0, clock_.MonotonicNow() + patience.wait};
  {
    MutexLock lock(mu_);
    call.turn = ++turns_[request.worker];
    news_cond_.NotifyAll();
  }
  for (;;) {
    Changed changed;
    Exchange exchange;
    {
      MutexLock lock(mu_);
      exchange = Answer(call, changed);
    }
    Announce(changed);
    if (!exchange.reply.ok() || exchange.says_something) return exchange.reply;
    if (AwaitNews(call, exchange.news_seen)) continue;
    // Having waited to the end, it may wait again at once.
    const bool waited = patience.wait > absl::ZeroDuration();
    if (waited && clock_.MonotonicNow() >= call.deadline) exchange.reply->next_call_in_ms = 0;
    return exchange.reply;
  }
}

Dispatcher::Impl::Exchange Dispatcher::Impl::Answer(const Call& call, Changed& changed) {
  if (const absl::Status health = HealthLocked(); !health.ok()) return {health};
  const Moment now = Now();
  Effects effects;
  const auto orders = scheduler_.OnReport(call.request, now.monotonic, effects);
  // Also when the call is refused: time has moved.
  if (const absl::Status status = Commit(effects, now, changed); !status.ok()) return {status};
  if (!orders.ok()) return {orders.status()};
  Exchange exchange{ReplyOf(*orders)};
  exchange.news_seen = news_;
  exchange.says_something =
      !orders->stop.empty() || !orders->confirmed.empty() ||
      std::any_of(orders->wanted.begin(), orders->wanted.end(),
                  [](const WorkerOrders::Wanted& wanted) { return wanted.send_envelope; });
  return exchange;
}

bool Dispatcher::Impl::AwaitNews(const Call& call, uint64_t seen) NO_THREAD_SAFETY_ANALYSIS {
  MutexLock lock(mu_);
  const auto over = [&] {
    return waits_over_ || turns_[call.request.worker] != call.turn || call.patience.gone();
  };
  const bool woken =
      clock_.WaitUntil(call.deadline, mu_, news_cond_, [&] { return news_ != seen || over(); });
  return woken && !over();
}

void Dispatcher::Impl::EndWaits() {
  MutexLock lock(mu_);
  waits_over_ = true;
  news_cond_.NotifyAll();
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
    for (const Attempt* each = run.Find(attempt.parent); each->parent;
         each = run.Find(each->parent)) {
      resume.ancestors.push_back({each->parent, each->start_step});
    }
    envelope.resume = std::move(resume);
  }
  return DumpStrict(ToJson(envelope));
}

}  // namespace normlab::server
