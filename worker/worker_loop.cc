#include "worker/worker_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <thread>

namespace normlab::worker {
namespace {

// Records of this long travel together: a picture that is a fifth of a second old is live enough,
// and each journey costs a sync of the log here and of the database there.
constexpr absl::Duration kCollect = absl::Milliseconds(200);
constexpr absl::Duration kRelayFirstPause = absl::Milliseconds(200);
constexpr absl::Duration kRelayLongestPause = absl::Seconds(5);
constexpr absl::Duration kRelayLookAround = absl::Seconds(30);

constexpr absl::Duration kFirstContactLimit = absl::Minutes(1);
constexpr absl::Duration kLease = absl::Seconds(120);
// How long a local worker without a server waits for the next one to adopt it.
constexpr absl::Duration kOrphanLimit = absl::Minutes(10);
// How long an ending worker tries to hand over its last records; they stay on disk if it fails.
constexpr absl::Duration kFarewellLimit = absl::Seconds(10);
constexpr absl::Duration kEndingInterval = absl::Milliseconds(500);

}  // namespace

WorkerLoop::WorkerLoop(const WorkerOptions& options, Session& session, Relay& relay, Slots& slots,
                       AttemptStore& store, WorkerWakes& wakes, Clock& clock)
    : options_(options),
      session_(session),
      relay_(relay),
      slots_(slots),
      store_(store),
      wakes_(wakes),
      clock_(clock),
      started_(clock.MonotonicNow()) {}

int WorkerLoop::Run() {
  std::thread relay([this] { RelayUntilStopped(); });
  std::optional<int> exit_code;
  while (!exit_code.has_value()) {
    ObeySignals();
    const Session::Result result = session_.Step();
    last_status_ = result.status;
    session_trouble_.Note(result.status);
    ObeyServerLoss();
    exit_code = TimeToEnd();
    if (exit_code.has_value()) break;
    const absl::Duration pause =
        session_.draining() ? std::min(result.next_call, kEndingInterval) : result.next_call;
    wakes_.session.WaitFor(pause);
  }
  relay_stops_ = true;
  wakes_.OnAttemptEnded();
  relay.join();
  return *exit_code;
}

void WorkerLoop::RelayUntilStopped() {
  absl::Duration pause = kRelayFirstPause;
  while (!relay_stops_) {
    const Relay::Result result = relay_.Step();
    if (result.delivered) wakes_.session.Notify();
    relay_trouble_.Note(result.status);
    if (!result.status.ok()) {
      wakes_.urgent.WaitFor(pause);
      pause = std::min(pause * 2, kRelayLongestPause);
      continue;
    }
    pause = kRelayFirstPause;
    if (result.more) continue;
    wakes_.urgent.WaitFor(kCollect);
    wakes_.record.WaitFor(kRelayLookAround);
  }
}

void WorkerLoop::ObeySignals() {
  const int asked = stops_asked_;
  if (asked == stops_obeyed_) return;
  stops_obeyed_ = asked;
  spdlog::info(asked == 1 ? "ending: trainers write a checkpoint first (again: at once)"
                          : "ending at once");
  session_.Drain();
  slots_.StopAll(FailureKind::kPreempted, /*now=*/asked > 1);
}

void WorkerLoop::ObeyServerLoss() {
  const absl::Time now = clock_.MonotonicNow();
  const bool busy = slots_.busy() > 0;
  const absl::Duration silence = now - session_.last_contact();
  if (busy && options_.on_server_lost == OnServerLost::kStop && silence > kLease) {
    slots_.StopAll(FailureKind::kPreempted);
  }
  if (busy || session_.draining()) return;
  const bool idle_too_long = now - session_.last_busy() > options_.idle_timeout;
  const bool orphan =
      options_.local && silence > kOrphanLimit && now - session_.last_busy() > kOrphanLimit;
  if (!idle_too_long && !orphan) return;
  spdlog::info(orphan ? "no server came back; ending" : "nothing to do; ending");
  session_.Drain();
}

std::optional<int> WorkerLoop::TimeToEnd() const {
  const absl::Time now = clock_.MonotonicNow();
  if (!still_ours_()) {
    spdlog::error("the worker's folder was removed or replaced; ending at once");
    slots_.StopAll(FailureKind::kLostWorker, /*now=*/true);
    return kExitRefused;
  }
  if (!session_.ever_reached() && now - started_ > kFirstContactLimit) {
    return absl::IsUnavailable(last_status_) ? kExitUnreachable : kExitRefused;
  }
  if (!session_.draining() || slots_.busy() > 0) return std::nullopt;
  // Confirmed attempts are gone from the store: with none left, the server has everything.
  const absl::Time since = std::max(session_.last_contact(), session_.last_busy());
  if (store_.All().empty() || now - since > kFarewellLimit) return 0;
  return std::nullopt;
}

}  // namespace normlab::worker
