// Which queued run a worker gets: the part of Scheduler that fills free slots.
#include <algorithm>

#include "core/check.h"
#include "core/version.h"
#include "server/scheduler/explain.h"
#include "server/scheduler/scheduler.h"

namespace normlab::server {

bool Scheduler::MayWork(const Worker& worker, absl::Time now) const {
  return worker.connected && !worker.draining && worker.quarantined_until <= now &&
         worker.versions.trainer_error.empty() &&
         worker.versions.trainer_math == options_.trainer_math;
}

void Scheduler::Take(const Demand& demand, Capacity& capacity) {
  --capacity.slots;
  capacity.gpus -= demand.gpus;
  capacity.cpus -= demand.cpus;
  capacity.memory_bytes -= demand.memory_bytes;
}

// Somebody else who could run it if all their slots were free.
bool Scheduler::AnotherCouldTake(const Run& run, const Worker& worker, absl::Time now) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& other = entry.second;
    return other.id != worker.id && MayWork(other, now) &&
           FitsResources(run.demand, other.resources);
  });
}

const Checkpoint* Scheduler::BestCheckpoint(const Run& run, const std::string& store_id) const {
  const Checkpoint* best = nullptr;
  for (const Checkpoint& checkpoint : run.checkpoints) {
    if (run.Find(checkpoint.attempt)->store_id != store_id) continue;
    if (best == nullptr || checkpoint.step > best->step) best = &checkpoint;
  }
  return best;
}

bool Scheduler::Accepts(const Worker& worker, const Run& run, absl::Time now) const {
  // After a while anything is better than waiting.
  if (now >= run.queued_since + options_.checkpoint_patience) return true;
  if (run.avoid == worker.id && AnotherCouldTake(run, worker, now)) return false;
  if (run.checkpoints.empty()) return true;
  const auto newest =
      std::max_element(run.checkpoints.begin(), run.checkpoints.end(),
                       [](const Checkpoint& a, const Checkpoint& b) { return a.step < b.step; });
  const Attempt& writer = *run.Find(newest->attempt);
  const std::string& isa = workers_.at(writer.worker).versions.isa;
  // 2: reaches the newest checkpoint and goes on with its numbers bit for bit; 1: reaches it.
  const auto suits = [&](const Worker& other) {
    if (other.store_id != writer.store_id) return 0;
    return other.versions.isa == isa ? 2 : 1;
  };
  // Whoever suits better goes first.
  return std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& other = entry.second;
    return suits(other) > suits(worker) && other.id != run.avoid && MayWork(other, now) &&
           FitsResources(run.demand, other.resources);
  });
}

void Scheduler::Place(Worker& worker, absl::Time now, Capacity& capacity, WorkerOrders& orders,
                      Effects& effects) {
  if (!MayWork(worker, now)) return;
  const auto fits = [&capacity](const Demand& demand) {
    return demand.gpus <= capacity.gpus && demand.cpus <= capacity.cpus &&
           demand.memory_bytes <= capacity.memory_bytes;
  };
  const auto accepts = [&](RunId run) { return Accepts(worker, runs_.at(run), now); };
  while (capacity.slots > 0) {
    const auto picked = queue_.Pick(fits, accepts);
    if (!picked.has_value()) return;
    Run& run = runs_.at(*picked);
    const Attempt& attempt = StartAttempt(run, worker, now, effects);
    Take(run.demand, capacity);
    orders.wanted.push_back({run.id, attempt.number, /*send_envelope=*/true});
  }
}

Attempt& Scheduler::StartAttempt(Run& run, const Worker& worker, absl::Time now, Effects& effects) {
  Attempt attempt;
  attempt.number = AttemptNumber(static_cast<int>(run.attempts.size()) + 1);
  while (!attempt.token || tokens_.contains(attempt.token)) {
    attempt.token = LeaseToken(random_.Next());
  }
  attempt.worker = worker.id;
  attempt.incarnation = worker.incarnation;
  attempt.store_id = worker.store_id;
  if (const Checkpoint* checkpoint = BestCheckpoint(run, worker.store_id)) {
    attempt.parent = checkpoint->attempt;
    attempt.start_step = checkpoint->step;
    attempt.resume_dir = checkpoint->dir;
  }
  tokens_.emplace(attempt.token, std::make_pair(run.id, attempt.number));
  leases_.Grant({attempt.token, run.id, attempt.number, worker.id, now + options_.lease_term});
  Unqueue(run);
  run.attempts.push_back(std::move(attempt));
  Attempt& started = run.attempts.back();
  effects.attempts.emplace(run.id, started.number);
  Move(run, RunState::kRunning, "assigned", &started, effects);
  return started;
}

}  // namespace normlab::server
