#ifndef NORMLAB_WORKER_SESSION_H_
#define NORMLAB_WORKER_SESSION_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/ids.h"
#include "core/random.h"
#include "proto/control.pb.h"
#include "worker/attempt_store.h"
#include "worker/server_link.h"
#include "worker/slots.h"

namespace normlab::worker {

// What stays the same in every call of one process.
struct SessionOptions {
  WorkerId worker;
  Incarnation incarnation;
  std::string store_id;
  v1::Hello hello;
  v1::Resources resources;
  bool local = false;
  // How long the server may keep a call open while it has nothing to say.
  absl::Duration wait = absl::ZeroDuration();
  // Moves what dead workers of other names left for this instance into the store.
  std::function<absl::Status(AttemptStore& store, const std::string& instance)> adopt =
      [](AttemptStore&, const std::string&) { return absl::OkStatus(); };
};

// The worker's half of Synchronize: tells the server what is held, then makes true what it answers.
// All state that matters is in the store, the slots and the server, so that any call may be lost,
// repeated or answered late. One thread.
class Session {
 public:
  // Everything that is handed in outlives this.
  Session(SessionOptions options, AttemptStore& store, Slots& slots, ServerLink& link, Clock& clock,
          RandomSource& random);

  struct Result {
    absl::Status status;  // of the call, or of what had to be done after it
    absl::Duration
        next_call;  // at the latest; zero when something changed that the server wants to know
  };

  // One exchange. After errors the next call is further and further away (0.2 s up to 5 s, spread).
  Result Step();

  // Asks for no more work from the next call on.
  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }

  // Ends a call that waits for news at the server, because something changed here. Thread-safe.
  void EndWait() { link_.EndWait(); }

  // When the server last answered; the start, before it ever did.
  absl::Time last_contact() const { return last_contact_; }
  bool ever_reached() const { return ever_reached_; }
  // When this worker last held an unfinished attempt.
  absl::Time last_busy() const { return last_busy_; }

 private:
  absl::Status FollowInstance();
  absl::Status LookForLeftovers();
  v1::SynchronizeRequest Request() const;
  // True when an attempt was started or forgotten.
  absl::StatusOr<bool> Obey(const v1::SynchronizeReply& reply);
  absl::Status Start(const v1::DesiredAttempt& desired, const std::string& datasets_dir);
  absl::Duration BackOff();

  const SessionOptions options_;
  AttemptStore& store_;
  Slots& slots_;
  ServerLink& link_;
  Clock& clock_;
  RandomSource& random_;
  std::string instance_;  // whose attempts the store lists
  bool draining_ = false;
  bool ever_reached_ = false;
  int failures_in_a_row_ = 0;
  absl::Time last_contact_;
  absl::Time last_busy_;
  absl::Time next_look_ = absl::InfinitePast();
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_SESSION_H_
