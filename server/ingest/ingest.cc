#include "server/ingest/ingest.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/mutex.h"
#include "core/status.h"
#include "core/strings.h"
#include "server/ingest/log_intake.h"
#include "server/store/metric_store.h"

namespace normlab::server {
namespace {

// Requests that go into one commit at most, so that nobody waits for ever.
constexpr size_t kMaxBatch = 256;

}  // namespace

// Whoever finds no commit under way becomes the leader: takes what has queued up, commits it in one
// transaction and wakes the others. So one slow disk serves many logs with one sync.
class Ingest::Impl {
 public:
  Impl(MetricStore& store, Clock& clock, IngestListeners listeners)
      : store_(store), clock_(clock), listeners_(std::move(listeners)) {}

  absl::StatusOr<uint64_t> Append(AppendRequest request);

 private:
  struct Pending {
    AppendRequest request;
    std::vector<Record> records;
    std::optional<absl::StatusOr<uint64_t>> answer;
  };
  using Batch = std::vector<Pending*>;

  // Only by the leader, so that what follows needs no lock.
  void Process(const Batch& batch);
  absl::Status TakeIn(Pending& pending);
  absl::Status CommitAll(const std::set<LeaseToken>& touched);

  MetricStore& store_;
  Clock& clock_;
  const IngestListeners listeners_;

  Mutex mu_;
  CondVar answered_;
  std::deque<Pending*> queue_ GUARDED_BY(mu_);
  bool committing_ GUARDED_BY(mu_) = false;

  // The leader's.
  std::map<LeaseToken, LogIntake> intakes_;
  absl::Status failure_;
};

Ingest::Ingest(MetricStore& store, Clock& clock, IngestListeners listeners)
    : impl_(std::make_unique<Impl>(store, clock, std::move(listeners))) {}

Ingest::~Ingest() = default;

absl::StatusOr<uint64_t> Ingest::Append(AppendRequest request) {
  return impl_->Append(std::move(request));
}

absl::StatusOr<uint64_t> Ingest::Impl::Append(AppendRequest request) {
  Pending pending;
  for (size_t i = 0; i < request.records.size(); ++i) {
    auto record = DecodeRecord(request.records[i]);
    if (!record.ok()) {
      return AddContext(record.status(),
                        Cat("record ", request.first_seq + i, " of attempt ",
                            ToString(request.attempt), " of ", ToString(request.run)));
    }
    pending.records.push_back(*std::move(record));
  }
  pending.request = std::move(request);
  Batch batch;
  {
    MutexLock lock(mu_);
    queue_.push_back(&pending);
    while (committing_ && !pending.answer.has_value()) answered_.Wait(mu_);
    if (pending.answer.has_value()) return *pending.answer;
    committing_ = true;
    const auto end =
        queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMaxBatch));
    batch.assign(queue_.begin(), end);
    queue_.erase(queue_.begin(), end);
  }
  Process(batch);
  MutexLock lock(mu_);
  committing_ = false;
  answered_.NotifyAll();
  // With more waiting than one batch holds, this one may not have been in it.
  if (pending.answer.has_value()) return *pending.answer;
  queue_.erase(std::find(queue_.begin(), queue_.end(), &pending));
  return absl::UnavailableError("too many logs at once; try again");
}

void Ingest::Impl::Process(const Batch& batch) {
  std::vector<absl::Status> statuses;
  std::set<LeaseToken> touched;
  for (Pending* pending : batch) {
    statuses.push_back(TakeIn(*pending));
    if (statuses.back().ok()) touched.insert(pending->request.token);
  }
  const absl::Status committed = CommitAll(touched);
  std::vector<absl::StatusOr<uint64_t>> answers;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!statuses[i].ok()) {
      answers.push_back(statuses[i]);
    } else if (!committed.ok()) {
      answers.push_back(committed);
    } else {
      answers.push_back(intakes_.at(batch[i]->request.token).acked_seq());
    }
  }
  // A log that is complete is done with; should it come again, the store knows it.
  for (const LeaseToken token : touched) {
    if (intakes_.at(token).exited()) intakes_.erase(token);
  }
  MutexLock lock(mu_);
  for (size_t i = 0; i < batch.size(); ++i) batch[i]->answer = std::move(answers[i]);
}

absl::Status Ingest::Impl::TakeIn(Pending& pending) {
  if (!failure_.ok()) {
    return absl::UnavailableError(Cat("ingest takes nothing more since a commit failed (",
                                      std::string(failure_.message()), "); restart the server"));
  }
  const AppendRequest& request = pending.request;
  auto found = intakes_.find(request.token);
  if (found == intakes_.end()) {
    auto intake = LogIntake::Open(store_, request);
    if (!intake.ok()) return intake.status();
    found = intakes_.emplace(request.token, *std::move(intake)).first;
  }
  return found->second.Take(request.first_seq, pending.records);
}

absl::Status Ingest::Impl::CommitAll(const std::set<LeaseToken>& touched) {
  std::vector<LogUpdate> updates;
  std::vector<AttemptNews> news;
  std::set<RunId> runs;
  for (const LeaseToken token : touched) {
    LogIntake::Taken taken = intakes_.at(token).Flush();
    if (!taken.anything) continue;
    runs.insert(taken.update.run);
    updates.push_back(std::move(taken.update));
    news.insert(news.end(), taken.news.begin(), taken.news.end());
  }
  if (updates.empty()) return absl::OkStatus();
  const auto sweeps = store_.Commit(updates, clock_.Now());
  // Memory is ahead of the disk now; only a restart brings them together again.
  if (!sweeps.ok()) return failure_ = sweeps.status();
  if (listeners_.news) {
    if (const absl::Status told = listeners_.news(news); !told.ok()) return failure_ = told;
  }
  if (listeners_.changed) listeners_.changed(*sweeps, runs);
  return absl::OkStatus();
}

}  // namespace normlab::server
