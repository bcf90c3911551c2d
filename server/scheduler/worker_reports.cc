// How workers come, go and say what they hold: the part of Scheduler behind the control call.
#include <algorithm>

#include "core/check.h"
#include "core/strings.h"
#include "server/scheduler/scheduler.h"

namespace normlab::server {
namespace {

constexpr size_t kRememberedIncarnations = 16;
// last_seen in the database is for people; a commit at every call would be the server's main work.
constexpr absl::Duration kSeenResolution = absl::Seconds(30);

}  // namespace

absl::StatusOr<WorkerOrders> Scheduler::OnReport(const WorkerReport& report, absl::Time now,
                                                 Effects& effects) {
  effects = OnTime(now);
  Worker& worker = workers_[report.worker];
  if (worker.superseded.contains(report.incarnation.value())) {
    return absl::AbortedError(Cat("worker ", ToString(report.worker),
                                  " was started again since; this call is of an older start"));
  }
  if (worker.incarnation != report.incarnation) TakeOver(worker, report, now, effects);
  UpdateWorker(worker, report, now, effects);
  WorkerOrders orders;
  Capacity capacity{report.resources.slots, static_cast<int64_t>(report.resources.gpus.size()),
                    report.resources.cpus, report.resources.memory_bytes};
  ReviewHeld(report, now, capacity, orders);
  Place(worker, now, capacity, orders, effects);
  orders.next_call = capacity.slots > 0 ? options_.idle_call : options_.busy_call;
  return orders;
}

void Scheduler::TakeOver(Worker& worker, const WorkerReport& report, absl::Time now,
                         Effects& effects) {
  worker.id = report.worker;
  if (worker.incarnation) {
    // A call of the older start may still be on its way and must not undo this.
    if (worker.superseded.size() >= kRememberedIncarnations) worker.superseded.clear();
    worker.superseded.insert(worker.incarnation.value());
  }
  worker.incarnation = report.incarnation;
  for (const Lease& lease : leases_.HeldBy(report.worker)) {
    Run& run = runs_.at(lease.run);
    Attempt& attempt = *run.Find(lease.attempt);
    const bool listed =
        std::any_of(report.held.begin(), report.held.end(),
                    [&lease](const HeldReport& held) { return held.token == lease.token; });
    if (listed) {
      attempt.incarnation = report.incarnation;
      effects.attempts.emplace(run.id, attempt.number);
    } else {
      Lose(run, attempt, now, effects);
    }
  }
  effects.workers.insert(worker.id);
}

void Scheduler::UpdateWorker(Worker& worker, const WorkerReport& report, absl::Time now,
                             Effects& effects) {
  const bool changed = !worker.connected || worker.draining != report.draining ||
                       worker.local != report.local || worker.store_id != report.store_id ||
                       !(worker.versions == report.versions) ||
                       !(worker.resources == report.resources);
  // Rounded down, so that only every so many calls are written.
  const bool stale = absl::Floor(now - absl::UnixEpoch(), kSeenResolution) !=
                     absl::Floor(worker.last_seen - absl::UnixEpoch(), kSeenResolution);
  if (changed || stale) effects.workers.insert(worker.id);
  worker.connected = true;
  worker.draining = report.draining;
  worker.local = report.local;
  worker.store_id = report.store_id;
  worker.versions = report.versions;
  worker.resources = report.resources;
  worker.last_seen = now;
}

void Scheduler::ReviewHeld(const WorkerReport& report, absl::Time now, Capacity& capacity,
                           WorkerOrders& orders) {
  std::set<LeaseToken> seen;
  for (const HeldReport& held : report.held) {
    if (!seen.insert(held.token).second) continue;
    const Lease* lease = leases_.Find(held.token);
    if (lease == nullptr || lease->worker != report.worker) {
      ReviewVoid(held, capacity, orders);
      continue;
    }
    leases_.Extend(held.token, now + options_.lease_term);
    Run& run = runs_.at(lease->run);
    Attempt& attempt = *run.Find(lease->attempt);
    attempt.listed = true;
    attempt.finished = held.finished;
    if (held.finished) continue;
    Take(run.demand, capacity);
    orders.wanted.push_back({run.id, attempt.number, /*send_envelope=*/false});
  }
  // Assigned, but the worker does not know of it: the reply was lost. The same token again; the
  // lease is not extended, so that a worker that cannot take it loses it in the end.
  for (const Lease& lease : leases_.HeldBy(report.worker)) {
    if (seen.contains(lease.token)) continue;
    Run& run = runs_.at(lease.run);
    Take(run.demand, capacity);
    orders.wanted.push_back({run.id, lease.attempt, /*send_envelope=*/true});
  }
}

void Scheduler::ReviewVoid(const HeldReport& held, Capacity& capacity, WorkerOrders& orders) {
  const auto [run, attempt] = FindAttempt(held.token);
  // Its log may have ended since the worker wrote its report.
  if (attempt != nullptr && attempt->log_complete) {
    orders.confirmed.push_back(held.token);
    return;
  }
  if (!held.finished) {
    // It still takes its slot until the worker has ended it.
    const bool reasoned = attempt != nullptr && attempt->reason != FailureKind::kNone;
    orders.stop.push_back({held.token, reasoned ? attempt->reason : FailureKind::kLostWorker});
    Take(run != nullptr ? run->demand : Demand(), capacity);
  }
  // A finished log of which something is still to come, or of a token that this database never
  // issued: somebody's only copy. It stays.
}

}  // namespace normlab::server
