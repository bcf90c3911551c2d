#include "server/ingest/ingest.h"

#include <exception>
#include <map>
#include <optional>
#include <utility>

#include "core/mutex.h"
#include "core/record.h"
#include "core/status.h"
#include "core/strings.h"
#include "server/ingest/log_intake.h"
#include "server/store/metric_store.h"

namespace normlab::server {
namespace {

// A call that waits for its records to be on disk.
struct Pending {
  AppendRequest request;
  std::vector<Record> records;
  absl::StatusOr<uint64_t> answer = absl::UnknownError("not committed yet");
  bool done = false;
};

absl::StatusOr<std::vector<Record>> Decode(const AppendRequest& request) {
  std::vector<Record> records;
  records.reserve(request.records.size());
  for (size_t i = 0; i < request.records.size(); ++i) {
    absl::StatusOr<Record> record = DecodeRecord(request.records[i]);
    if (!record.ok()) {
      return AddContext(record.status(),
                        Cat("record ", request.first_seq + i, " of ", ToString(request.run),
                            " attempt ", request.attempt.value()));
    }
    records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace

// Group commit: the first caller that finds nobody committing commits for all who wait, again and
// again until none is left; the others sleep until their answer is there.
class Ingest::Impl {
 public:
  Impl(MetricStore& store, Clock& clock, IngestListeners listeners)
      : store_(store), clock_(clock), listeners_(std::move(listeners)) {}

  absl::StatusOr<uint64_t> Append(AppendRequest request) {
    Pending mine;
    // Outside the lock, and before anything is taken: one bad batch must not harm its neighbours.
    ASSIGN_OR_RETURN(mine.records, Decode(request));
    mine.request = std::move(request);
    MutexLock lock(mu_);
    waiting_.push_back(&mine);
    while (!mine.done) {
      if (committing_) {
        answered_.Wait(mu_);
        continue;
      }
      committing_ = true;
      std::vector<Pending*> batch = std::exchange(waiting_, {});
      mu_.Unlock();
      CommitOrBreak(batch);
      mu_.Lock();
      committing_ = false;
      health_ = broken_;
      for (Pending* pending : batch) pending->done = true;
      answered_.NotifyAll();
    }
    return mine.answer;
  }

  absl::Status Health() const {
    MutexLock lock(mu_);
    return health_;
  }

 private:
  using LogKey = std::pair<RunId, AttemptNumber>;

  // A log of which this commit will bring something, with the calls that sent it.
  struct Touched {
    LogIntake* intake = nullptr;
    std::vector<Pending*> senders;
  };
  using TouchedLogs = std::map<LogKey, Touched>;

  // Only the committing caller is in here: logs_ and broken_ need no lock of their own. Whatever
  // happens, every waiting call gets an answer, and the next one its turn.
  void CommitOrBreak(const std::vector<Pending*>& batch) NO_THREAD_SAFETY_ANALYSIS {
    try {
      CommitBatch(batch);
    } catch (const std::exception& exception) {  // out of memory, say
      Break(absl::InternalError(exception.what())).IgnoreError();
      for (Pending* pending : batch) pending->answer = broken_;
    }
  }

  void CommitBatch(const std::vector<Pending*>& batch) NO_THREAD_SAFETY_ANALYSIS {
    TouchedLogs touched;
    for (Pending* pending : batch) {
      pending->answer = broken_.ok() ? Take(*pending, touched) : broken_;
    }
    const absl::Status status = broken_.ok() ? Commit(touched) : broken_;
    if (status.ok()) return;
    for (Pending* pending : batch) {
      if (pending->answer.ok()) pending->answer = status;
    }
  }

  absl::StatusOr<uint64_t> Take(Pending& pending, TouchedLogs& touched) NO_THREAD_SAFETY_ANALYSIS {
    const AppendRequest& request = pending.request;
    const LogKey key{request.run, request.attempt};
    Log& log = logs_[key];
    if (log.intake == nullptr || log.token != request.token) {
      absl::StatusOr<std::unique_ptr<LogIntake>> intake =
          LogIntake::Open(store_, request.token, request.run, request.attempt);
      if (!intake.ok()) {
        if (log.intake == nullptr) logs_.erase(key);
        return intake.status();
      }
      log = {request.token, *std::move(intake)};
    }
    Touched& part = touched[key];
    part.intake = log.intake.get();
    part.senders.push_back(&pending);
    const absl::Status taken = part.intake->Take(request.first_seq, std::move(pending.records));
    if (!taken.ok()) return Forget(key, taken, touched);
    troubled_.erase(key);
    return part.intake->acked_seq();
  }

  // What this log's intake holds cannot be trusted, since its history could not be read. Nothing of
  // it is acknowledged: its senders come again and find the state that the store has. The other
  // logs go on.
  absl::Status Forget(const LogKey& key, const absl::Status& cause,
                      TouchedLogs& touched) NO_THREAD_SAFETY_ANALYSIS {
    for (Pending* sender : touched[key].senders) sender->answer = cause;
    touched.erase(key);
    logs_.erase(key);
    if (troubled_.insert(key).second) {
      listeners_.trouble(Cat("cannot take in what ", ToString(key.first), " attempt ",
                             key.second.value(), " sends: ", cause.message()));
    }
    return cause;
  }

  absl::Status Commit(const TouchedLogs& touched) NO_THREAD_SAFETY_ANALYSIS {
    std::vector<LogUpdate> updates;
    std::vector<AttemptNews> news;
    std::set<RunId> runs;
    for (const auto& [key, part] : touched) {
      std::optional<LogUpdate> update = part.intake->Harvest();
      if (!update.has_value()) continue;
      updates.push_back(*std::move(update));
      runs.insert(key.first);
      for (AttemptNews& item : part.intake->TakeNews()) news.push_back(std::move(item));
    }
    if (updates.empty()) return absl::OkStatus();
    absl::StatusOr<std::set<SweepId>> sweeps = store_.Commit(updates, clock_.Now());
    if (!sweeps.ok()) return Break(sweeps.status());
    // The store has the records, but a scheduler that did not hear of them would wait for ever:
    // the senders come again after a restart, which tells it everything anew.
    if (absl::Status told = listeners_.news(news); !told.ok()) return Break(told);
    listeners_.changed(*sweeps, runs);
    for (const LogUpdate& update : updates) {
      if (update.exit.has_value()) logs_.erase({update.run, update.attempt});
    }
    return absl::OkStatus();
  }

  // Memory is ahead of the disk from now on; nothing more may be acknowledged.
  absl::Status Break(const absl::Status& cause) NO_THREAD_SAFETY_ANALYSIS {
    broken_ = absl::UnavailableError(Cat("a commit failed: ", cause.message()));
    return broken_;
  }

  struct Log {
    LeaseToken token;
    std::unique_ptr<LogIntake> intake;
  };

  MetricStore& store_;
  Clock& clock_;
  const IngestListeners listeners_;
  mutable Mutex mu_;
  CondVar answered_;
  std::vector<Pending*> waiting_ GUARDED_BY(mu_);
  bool committing_ GUARDED_BY(mu_) = false;
  absl::Status health_ GUARDED_BY(mu_);
  std::map<LogKey, Log> logs_;  // of the committing caller
  std::set<LogKey> troubled_;   // told of; of the committing caller
  absl::Status broken_;         // of the committing caller
};

Ingest::Ingest(MetricStore& store, Clock& clock, IngestListeners listeners)
    : impl_(std::make_unique<Impl>(store, clock, std::move(listeners))) {}

Ingest::~Ingest() = default;

absl::Status Ingest::Health() const { return impl_->Health(); }

absl::StatusOr<uint64_t> Ingest::Append(AppendRequest request) {
  return impl_->Append(std::move(request));
}

}  // namespace normlab::server
