#include "worker/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/outcome.h"
#include "core/status.h"

namespace normlab::worker {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
constexpr absl::Duration kLongestPause = absl::Seconds(5);
// Also without an answer that says so: a server whose reply makes no sense is not called in a loop.
constexpr absl::Duration kShortestInterval = absl::Milliseconds(50);
constexpr absl::Duration kLongestInterval = absl::Seconds(30);
constexpr absl::Duration kLeftoversInterval = absl::Seconds(30);

absl::Duration LimitOf(int64_t milliseconds) {
  return milliseconds > 0 ? absl::Milliseconds(milliseconds) : absl::InfiniteDuration();
}

v1::HeldAttempt Describe(const HeldAttempt& attempt) {
  const HeldAttempt::Progress progress = attempt.progress();
  v1::HeldAttempt described;
  described.set_run(attempt.identity().run.value());
  described.set_attempt(attempt.identity().attempt.value());
  described.set_token(attempt.identity().token.value());
  described.set_state(progress.finished ? v1::HeldAttempt::FINISHED : v1::HeldAttempt::RUNNING);
  described.set_last_seq(progress.last_seq);
  described.set_last_step(progress.last_step);
  return described;
}

}  // namespace

Session::Session(SessionOptions options, AttemptStore& store, Slots& slots, ServerLink& link,
                 Clock& clock, RandomSource& random)
    : options_(std::move(options)),
      store_(store),
      slots_(slots),
      link_(link),
      clock_(clock),
      random_(random),
      last_contact_(clock.MonotonicNow()),
      last_busy_(clock.MonotonicNow()) {}

Session::Result Session::Step() {
  if (slots_.busy() > 0) last_busy_ = clock_.MonotonicNow();
  if (absl::Status status = FollowInstance(); !status.ok()) return {status, BackOff()};
  if (absl::Status status = LookForLeftovers(); !status.ok()) return {status, BackOff()};
  const auto reply = link_.Synchronize(Request());
  // We ended the wait ourselves, because something changed here.
  if (absl::IsCancelled(reply.status())) return {absl::OkStatus(), kShortestInterval};
  if (!reply.ok()) return {reply.status(), BackOff()};
  failures_in_a_row_ = 0;
  ever_reached_ = true;
  last_contact_ = clock_.MonotonicNow();
  const auto changed = Obey(*reply);
  if (!changed.ok()) return {changed.status(), BackOff()};
  if (*changed) return {absl::OkStatus(), absl::ZeroDuration()};
  return {absl::OkStatus(), std::clamp(absl::Milliseconds(reply->next_call_in_ms()),
                                       kShortestInterval, kLongestInterval)};
}

absl::Status Session::FollowInstance() {
  const std::string instance = link_.Instance();
  // Unknown while the connect file was never read; the call itself will say why.
  if (instance.empty() || instance == instance_) return absl::OkStatus();
  if (slots_.busy() > 0) {
    slots_.StopAll(FailureKind::kLostWorker);
    return absl::UnavailableError("another server's data took the place of ours; ending its runs");
  }
  instance_ = instance;
  next_look_ = absl::InfinitePast();
  return store_.Recover(instance);
}

// Another worker may die at any time; a worker that is about to end leaves them to the next one.
absl::Status Session::LookForLeftovers() {
  const absl::Time now = clock_.MonotonicNow();
  if (instance_.empty() || draining_ || now < next_look_) return absl::OkStatus();
  next_look_ = now + kLeftoversInterval;
  return options_.adopt(store_, instance_);
}

v1::SynchronizeRequest Session::Request() const {
  v1::SynchronizeRequest request;
  request.set_worker_id(options_.worker.value());
  request.set_incarnation(options_.incarnation.value());
  *request.mutable_hello() = options_.hello;
  *request.mutable_resources() = options_.resources;
  request.set_store_id(options_.store_id);
  request.set_instance(instance_);
  request.set_draining(draining_);
  request.set_local(options_.local);
  if (!draining_) request.set_wait_ms(absl::ToInt64Milliseconds(options_.wait));
  for (const auto& attempt : store_.All()) *request.add_held() = Describe(*attempt);
  return request;
}

absl::StatusOr<bool> Session::Obey(const v1::SynchronizeReply& reply) {
  bool changed = false;
  absl::Status first_error;
  for (const v1::StopAttempt& stop : reply.stop()) {
    const auto reason = ParseFailureKind(stop.reason());
    slots_.Stop(LeaseToken(stop.token()), reason.value_or(FailureKind::kCancelled));
  }
  // Before the starts: a disk that is nearly full gets room first.
  for (const uint64_t token : reply.confirmed()) {
    const auto attempt = store_.Find(LeaseToken(token));
    if (attempt == nullptr || !attempt->progress().finished) continue;
    first_error.Update(store_.Remove(LeaseToken(token)));
    changed = true;
  }
  for (const v1::DesiredAttempt& desired : reply.desired()) {
    if (store_.Find(LeaseToken(desired.token())) != nullptr) continue;
    if (desired.envelope_json().empty()) continue;
    const absl::Status started = Start(desired, reply.datasets_dir());
    first_error.Update(started);
    changed |= started.ok();
  }
  if (!first_error.ok()) return first_error;
  return changed;
}

absl::Status Session::Start(const v1::DesiredAttempt& desired, const std::string& datasets_dir) {
  const RunId run(desired.run());
  if (slots_.busy() >= slots_.count()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no free slot for ", ToString(run), "; it will be sent again"));
  }
  const AttemptIdentity identity{run, AttemptNumber(desired.attempt()),
                                 LeaseToken(desired.token())};
  ASSIGN_OR_RETURN(auto attempt, store_.Create(identity, instance_));
  Assignment assignment;
  assignment.envelope_json = desired.envelope_json();
  assignment.time_limit = LimitOf(desired.time_limit_ms());
  assignment.stall_limit = LimitOf(desired.stall_limit_ms());
  assignment.resume_dir = desired.resume_dir();
  assignment.server_datasets_dir = datasets_dir;
  last_busy_ = clock_.MonotonicNow();
  return slots_.Start(std::move(attempt), std::move(assignment));
}

absl::Duration Session::BackOff() {
  const int doublings = std::min(failures_in_a_row_++, 10);
  const absl::Duration pause = std::min(kFirstPause * (1 << doublings), kLongestPause);
  // Spread over half of it, so that a server that comes back is not met by all workers at once.
  return pause / 2 + pause / 2 * (static_cast<double>(random_.Next() >> 11) / (uint64_t{1} << 53));
}

}  // namespace normlab::worker
