#ifndef NORMLAB_SERVER_DISPATCH_DISPATCHER_H_
#define NORMLAB_SERVER_DISPATCH_DISPATCHER_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/ids.h"
#include "core/random.h"
#include "nlohmann/json_fwd.hpp"
#include "server/dispatch/messages.h"
#include "server/scheduler/attempt_news.h"
#include "server/scheduler/scheduler_options.h"

namespace normlab::server {

class RunStore;

// Tells what a commit changed. Called without locks held, on the thread that committed.
using ChangeListener = std::function<void(const std::set<SweepId>&, const std::set<RunId>&)>;

// How long a worker's call may stay unanswered while there is nothing to say.
struct Patience {
  absl::Duration wait = absl::ZeroDuration();
  // True once nobody waits for the answer any more: nothing may be assigned then.
  std::function<bool()> gone = [] { return false; };
};

struct DispatcherOptions {
  SchedulerOptions scheduler;
  std::string datasets_dir;  // data sets are looked up here at submission
};

// The door to the scheduler. Every call locks, moves time forward (so that what is due expires
// first), asks the scheduler, commits what changed in one transaction, and only then answers: what
// was answered is on disk. Thread-safe.
//
// When a commit fails, memory is ahead of the disk; from then on every call is refused with
// Unavailable until the process starts anew from the store.
class Dispatcher {
 public:
  // Loads the scheduler's state and extends every lease by a full term. `store`, `clock` and
  // `random` outlive the dispatcher.
  static absl::StatusOr<std::unique_ptr<Dispatcher>> Open(const DispatcherOptions& options,
                                                          RunStore& store, Clock& clock,
                                                          RandomSource& random);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Set before calls come in.
  void SetChangeListener(ChangeListener listener);

  // The control call of a worker. Aborted: a newer incarnation of the worker has called already.
  // FailedPrecondition: a protocol version that this server does not speak.
  // With patience it answers as soon as it has something to say, at the latest when the wait is
  // over. A newer call of the same worker ends the wait of an older one.
  absl::StatusOr<SyncReply> Synchronize(const SyncRequest& request, const Patience& patience = {});

  // Answers every waiting call now, and all later ones at once: the server is about to end.
  void EndWaits();

  // Expands, links, queues. InvalidArgument: a bad spec or an unknown data set, in people's words.
  // The same client key again gives the first answer again.
  absl::StatusOr<SubmitReply> Submit(const SubmitRequest& request);

  // Ends what `selector` names: a sweep's membership, or single runs. Returns the document
  // normlab.cancel.v1. NotFound, InvalidArgument: the selector; FailedPrecondition: already ended.
  absl::StatusOr<nlohmann::json> Cancel(const std::string& selector, const std::string& reason);

  // What ingest has committed. Unknown and void tokens are ignored.
  absl::Status OnAttemptNews(const std::vector<AttemptNews>& news);

  // Lets what is due expire when nobody calls. About once a second is enough.
  absl::Status Tick();

  // Not OK after a failed commit, with the reason.
  absl::Status Health() const;

 private:
  class Impl;
  explicit Dispatcher(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_DISPATCH_DISPATCHER_H_
