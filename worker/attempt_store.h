#ifndef NORMLAB_WORKER_ATTEMPT_STORE_H_
#define NORMLAB_WORKER_ATTEMPT_STORE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/mutex.h"
#include "worker/held_attempt.h"

namespace normlab::worker {

// The attempts that this worker holds, each a folder below `dir`:
//
//   RUN-ATTEMPT-TOKEN/instance      whose server's attempt it is; written first, removed first
//                    /log           core/attempt_log.h
//                    /envelope.json what the trainer was started with
//
// One process a folder at a time. Thread-safe.
class AttemptStore {
 public:
  // `on_record` is called after every record of any attempt; see HeldAttempt::Open.
  AttemptStore(std::string dir, std::function<void()> on_record);

  // A new attempt, empty log. AlreadyExists when it is held; errors of the disk.
  absl::StatusOr<std::shared_ptr<HeldAttempt>> Create(const AttemptIdentity& identity,
                                                      const std::string& instance);

  // Takes up what earlier processes left for this instance. A log without an exit record gets one
  // with reason lost_worker: its trainer ended with the worker. From then on the store lists these
  // attempts and those of no other instance. The first error, after all folders were tried: what
  // could be read is held all the same.
  absl::Status Recover(const std::string& instance);

  // Moves the attempts of this instance from `neighbour`, a folder like our own whose lock the
  // caller holds, into ours and takes them up as Recover does. Gives how many; the first error
  // after all were tried.
  absl::StatusOr<int> Adopt(const std::string& neighbour, const std::string& instance);

  std::vector<std::shared_ptr<HeldAttempt>> All() const;
  std::shared_ptr<HeldAttempt> Find(LeaseToken token) const;  // null: not held

  // Forgets a finished attempt and deletes its folder. No error when it is not held.
  absl::Status Remove(LeaseToken token);

 private:
  absl::StatusOr<std::shared_ptr<HeldAttempt>> TakeUp(const std::string& name,
                                                      const std::string& instance);
  const std::string dir_;
  const std::function<void()> on_record_;
  mutable Mutex mu_;
  std::map<LeaseToken, std::shared_ptr<HeldAttempt>> held_ GUARDED_BY(mu_);
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_ATTEMPT_STORE_H_
