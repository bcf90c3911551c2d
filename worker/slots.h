#ifndef NORMLAB_WORKER_SLOTS_H_
#define NORMLAB_WORKER_SLOTS_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "core/clock.h"
#include "core/data_folder.h"
#include "core/mutex.h"
#include "worker/dataset_cache.h"
#include "worker/executor.h"
#include "worker/held_attempt.h"

namespace normlab::worker {

// What one slot may use; the machine divided by the number of slots.
struct SlotResources {
  std::vector<int> cpus;  // empty: any
  int threads = 1;
  std::string gpu;  // as in CUDA_VISIBLE_DEVICES; "": trains on CPUs
};

// Divides CPUs and GPUs among `count` slots: threads = cores ÷ slots, never below one, each slot on
// CPUs of its own as long as there are enough.
std::vector<SlotResources> DivideAmongSlots(int count, const std::vector<int>& cpus,
                                            const std::vector<std::string>& gpus);

// An attempt to start, as the server sent it.
struct Assignment {
  std::string envelope_json;
  absl::Duration time_limit = absl::InfiniteDuration();
  absl::Duration stall_limit = absl::InfiniteDuration();
  std::string resume_dir;           // where the checkpoint was registered; may be out of reach
  std::string server_datasets_dir;  // may be out of reach
};

// The places where attempts run, each a thread around one Executor::Run: finds the data set, fills
// the paths into the envelope, runs, and writes the exit record, whatever happened. Thread-safe.
class Slots {
 public:
  // `on_free` is called whenever a slot became free; it must not call back into this. Everything
  // that is handed in outlives this.
  Slots(std::vector<SlotResources> resources, DataFolder folder, Executor& executor,
        DatasetCache& datasets, Clock& clock, std::function<void()> on_free);
  // Kills what still runs, and waits for it.
  ~Slots();

  int count() const { return static_cast<int>(slots_.size()); }
  int busy() const;

  // ResourceExhausted when no slot is free.
  absl::Status Start(std::shared_ptr<HeldAttempt> attempt, Assignment assignment);

  // No effect when the attempt does not run here. `now`: without waiting for a checkpoint.
  void Stop(LeaseToken token, FailureKind reason, bool now = false);
  void StopAll(FailureKind reason, bool now = false);

 private:
  struct Slot {
    SlotResources resources;
    std::thread thread;
    std::shared_ptr<HeldAttempt> attempt;  // null: free
    std::unique_ptr<StopWish> stop;
  };

  void RunIn(Slot& slot, HeldAttempt& attempt, const Assignment& assignment, const StopWish& stop);
  ExitRecord RunToExit(const Slot& slot, HeldAttempt& attempt, const Assignment& assignment,
                       const StopWish& stop);
  absl::StatusOr<Launch> Prepare(const SlotResources& resources, const HeldAttempt& attempt,
                                 const Assignment& assignment, const StopWish& stop);
  absl::StatusOr<std::string> FindDataset(const Envelope& envelope, const Assignment& assignment,
                                          const StopWish& stop);
  void Pause(absl::FunctionRef<bool()> cut_short);

  const DataFolder folder_;
  Executor& executor_;
  DatasetCache& datasets_;
  Clock& clock_;
  const std::function<void()> on_free_;
  mutable Mutex mu_;
  CondVar stopped_;
  std::vector<Slot> slots_;  // which of them run what: guarded by mu_
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_SLOTS_H_
