#ifndef NORMLAB_SERVER_INGEST_INGEST_H_
#define NORMLAB_SERVER_INGEST_INGEST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/ids.h"
#include "server/scheduler/attempt_news.h"

namespace normlab::server {

class MetricStore;

struct AppendRequest {
  LeaseToken token;
  RunId run;
  AttemptNumber attempt;
  uint64_t first_seq = 0;            // of records[0]
  std::vector<std::string> records;  // encoded, core/record.h
};

struct IngestListeners {
  // Scheduling news of a commit, in order; Dispatcher::OnAttemptNews. Its error fails the appends.
  std::function<absl::Status(const std::vector<AttemptNews>&)> news;
  // Which sweeps and runs changed.
  std::function<void(const std::set<SweepId>&, const std::set<RunId>&)> changed;
  // A sentence for whoever watches the server: an attempt whose records cannot be taken in. Once
  // until it goes well again.
  std::function<void(const std::string&)> trouble = [](const std::string&) {};
};

// Takes the records of attempt logs in. Batches that arrive while a commit is under way go into the
// next one together, whatever logs they come from; an answer means that the records are on disk.
// Repeated and reordered batches change nothing. Detectors run over the run's series as it comes
// in; what they know is rebuilt from the store when an attempt is met for the first time. Records
// of a void token are stored under their attempt like any others. Thread-safe.
class Ingest {
 public:
  Ingest(MetricStore& store, Clock& clock, IngestListeners listeners);
  ~Ingest();
  Ingest(const Ingest&) = delete;
  Ingest& operator=(const Ingest&) = delete;

  // Sequence number up to which the attempt's log is committed; where to go on. NotFound: a token
  // that was never issued for this run and attempt. DataLoss: a record that cannot be read.
  // Unavailable after a failed commit. Anything else is the store's word on this attempt's history;
  // it concerns this attempt alone, and the call may be sent again.
  absl::StatusOr<uint64_t> Append(AppendRequest request);

  // Not OK after a failed commit, with the reason: nothing is taken in any more, and the process
  // should start anew from the store.
  absl::Status Health() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_INGEST_INGEST_H_
