#include "worker/slots.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/json.h"
#include "core/status.h"
#include "nlohmann/json.hpp"

namespace normlab::worker {
namespace {

constexpr absl::Duration kRetryPause = absl::Seconds(2);

ExitRecord ExitBecause(FailureKind reason, std::string line) {
  ExitRecord exit;
  exit.reason = std::string(ToString(reason));
  exit.last_lines = {std::move(line)};
  return exit;
}

// The registered place when it can be seen from here, else the same checkpoint in our own folder
// (this worker wrote it, and the data folder was moved since). Where it is gone, but the run's
// folder is there, still its place: the trainer looks for an older one beside it.
std::string FindCheckpoint(const DataFolder& folder, RunId run, const Envelope::Resume& resume,
                           const std::string& registered) {
  const std::string own =
      JoinPath(folder.AttemptCheckpoints(run, resume.attempt), absl::StrCat(resume.step));
  if (IsDir(registered)) return registered;
  if (IsDir(own)) return own;
  for (const std::string& dir : {registered, own}) {
    if (!dir.empty() && IsDir(ParentDir(ParentDir(dir)))) return dir;
  }
  return "";
}

}  // namespace

std::vector<SlotResources> DivideAmongSlots(int count, const std::vector<int>& cpus,
                                            const std::vector<std::string>& gpus) {
  std::vector<SlotResources> slots(count);
  const int total = static_cast<int>(cpus.size());
  const int share = std::max(1, total / count);
  for (int i = 0; i < count; ++i) {
    slots[i].threads = share;
    if (total >= count) {
      const auto first = cpus.begin() + std::ptrdiff_t{i} * share;
      slots[i].cpus.assign(first, first + share);
    }
    if (!gpus.empty()) slots[i].gpu = gpus[i % gpus.size()];
  }
  return slots;
}

Slots::Slots(std::vector<SlotResources> resources, DataFolder folder, Executor& executor,
             DatasetCache& datasets, Clock& clock, std::function<void()> on_free)
    : folder_(std::move(folder)),
      executor_(executor),
      datasets_(datasets),
      clock_(clock),
      on_free_(std::move(on_free)),
      slots_(resources.size()) {
  for (size_t i = 0; i < resources.size(); ++i) slots_[i].resources = std::move(resources[i]);
}

Slots::~Slots() {
  StopAll(FailureKind::kLostWorker, /*now=*/true);
  for (Slot& slot : slots_) {
    if (slot.thread.joinable()) slot.thread.join();
  }
}

int Slots::busy() const {
  MutexLock lock(mu_);
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(),
                                        [](const Slot& slot) { return slot.attempt != nullptr; }));
}

absl::Status Slots::Start(std::shared_ptr<HeldAttempt> attempt, Assignment assignment) {
  MutexLock lock(mu_);
  const auto free = std::find_if(slots_.begin(), slots_.end(),
                                 [](const Slot& slot) { return slot.attempt == nullptr; });
  if (free == slots_.end()) return absl::ResourceExhaustedError("every slot is busy");
  Slot& slot = *free;
  if (slot.thread.joinable()) slot.thread.join();  // it has left RunIn's last lock already
  slot.attempt = std::move(attempt);
  slot.stop = std::make_unique<StopWish>();
  slot.thread =
      std::thread([this, &slot, held = slot.attempt, wish = slot.stop.get(),
                   assignment = std::move(assignment)] { RunIn(slot, *held, assignment, *wish); });
  return absl::OkStatus();
}

void Slots::Stop(LeaseToken token, FailureKind reason, bool now) {
  MutexLock lock(mu_);
  for (Slot& slot : slots_) {
    if (slot.attempt != nullptr && slot.attempt->identity().token == token) {
      slot.stop->Ask(reason, now);
    }
  }
  stopped_.NotifyAll();
}

void Slots::StopAll(FailureKind reason, bool now) {
  MutexLock lock(mu_);
  for (Slot& slot : slots_) {
    if (slot.attempt != nullptr) slot.stop->Ask(reason, now);
  }
  stopped_.NotifyAll();
}

void Slots::RunIn(Slot& slot, HeldAttempt& attempt, const Assignment& assignment,
                  const StopWish& stop) {
  ExitRecord exit = RunToExit(slot, attempt, assignment, stop);
  exit.last_step = attempt.progress().last_step;
  exit.stopped_by = attempt.progress().stopped_by;
  // Without an exit record nobody may count the attempt as ended. When it cannot be written, the
  // log stays as it is, and the next start of the worker closes it (AttemptStore::Recover).
  // Under the lock: whoever hears of the exit may give the slot to the next attempt at once.
  {
    MutexLock lock(mu_);
    const auto hurried = [&stop] { return stop.Get().now; };
    while (!attempt.Append(exit).ok() && !hurried()) {
      clock_.WaitUntil(clock_.MonotonicNow() + kRetryPause, mu_, stopped_, hurried);
    }
    slot.attempt = nullptr;
  }
  on_free_();
}

ExitRecord Slots::RunToExit(const Slot& slot, HeldAttempt& attempt, const Assignment& assignment,
                            const StopWish& stop) {
  const auto launch = Prepare(slot.resources, attempt, assignment, stop);
  if (const StopWish::Wish wish = stop.Get(); wish.asked) {
    return ExitBecause(wish.reason, "Stopped before the trainer was started.");
  }
  if (!launch.ok()) {
    return ExitBecause(FailureKind::kConfigError, std::string(launch.status().message()));
  }
  return executor_.Run(*launch, stop, attempt);
}

absl::StatusOr<Launch> Slots::Prepare(const SlotResources& resources, const HeldAttempt& attempt,
                                      const Assignment& assignment, const StopWish& stop) {
  ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(assignment.envelope_json));
  Launch launch;
  ASSIGN_OR_RETURN(launch.envelope, EnvelopeFromJson(document));
  Envelope& envelope = launch.envelope;
  ASSIGN_OR_RETURN(envelope.dataset.dir, FindDataset(envelope, assignment, stop));
  envelope.checkpoint_dir = folder_.AttemptCheckpoints(envelope.run, envelope.attempt);
  if (envelope.resume.has_value()) {
    envelope.resume->dir =
        FindCheckpoint(folder_, envelope.run, *envelope.resume, assignment.resume_dir);
    // Out of reach: from the beginning. The trainer's hello says so, and nothing is lost but time.
    if (envelope.resume->dir.empty()) envelope.resume.reset();
  }
  envelope.threads = resources.threads;
  envelope.device = resources.gpu.empty() ? "cpu" : "cuda:0";
  launch.work_dir = attempt.dir();
  launch.gpu = resources.gpu;
  launch.cpus = resources.cpus;
  launch.time_limit = assignment.time_limit;
  launch.stall_limit = assignment.stall_limit;
  return launch;
}

absl::StatusOr<std::string> Slots::FindDataset(const Envelope& envelope,
                                               const Assignment& assignment, const StopWish& stop) {
  for (;;) {
    auto dir = datasets_.Find(envelope.dataset.name, envelope.dataset.sha256,
                              assignment.server_datasets_dir);
    // A server that is away for a moment is no reason to give the attempt up.
    if (dir.ok() || !IsRetryable(dir.status()) || stop.Get().asked) return dir;
    Pause([&stop] { return stop.Get().asked; });
  }
}

void Slots::Pause(absl::FunctionRef<bool()> cut_short) {
  MutexLock lock(mu_);
  clock_.WaitUntil(clock_.MonotonicNow() + kRetryPause, mu_, stopped_, cut_short);
}

}  // namespace normlab::worker
