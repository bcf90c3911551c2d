#include "server/query/query_api.h"

#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/version.h"
#include "nlohmann/json.hpp"
#include "server/query/compare_document.h"
#include "server/query/knobs_document.h"
#include "server/query/lookup.h"
#include "server/query/percent.h"
#include "server/query/run_document.h"
#include "server/query/series_documents.h"
#include "server/query/sql_document.h"
#include "server/query/sweep_documents.h"
#include "server/query/worker_documents.h"
#include "server/store/read_only_store.h"

namespace normlab::server {

using nlohmann::json;

namespace {

constexpr size_t kMaxIdleStores = 8;

// "/api/v1/sweeps/s3%2Fc4/runs" → {"sweeps", "s3/c4", "runs"}.
absl::StatusOr<std::vector<std::string>> SegmentsOf(const std::string& path) {
  constexpr std::string_view kPrefix = "/api/v1/";
  if (!path.starts_with(kPrefix)) return NotFound("there is no '", path, "' here");
  std::vector<std::string> segments;
  for (const std::string_view part : Split(std::string_view(path).substr(kPrefix.size()), '/')) {
    ASSIGN_OR_RETURN(std::string segment, PercentDecode(part));
    segments.push_back(std::move(segment));
  }
  return segments;
}

// One request against one state of the database.
class Request {
 public:
  Request(ReadOnlyStore& store, Clock& clock, const ServerFacts& facts, const Params& params)
      : store_(store), clock_(clock), facts_(facts), params_(params) {}

  absl::StatusOr<json> Answer(const std::string& path) {
    ASSIGN_OR_RETURN(const std::vector<std::string> segments, SegmentsOf(path));
    const std::string& head = segments[0];
    if (segments.size() == 1) return TopLevel(path, head);
    const std::string what = segments.size() == 3 ? segments[2] : "";
    if (segments.size() <= 3 && (segments.size() == 2 || !what.empty())) {
      if (head == "sweeps") return OfSweep(path, segments[1], what);
      if (head == "runs") return OfRun(path, segments[1], what);
    }
    return Nothing(path);
  }

 private:
  static absl::Status Nothing(const std::string& path) {
    return NotFound("there is no '", path, "' here");
  }

  bool served() const { return !facts_.started_at.empty(); }

  absl::StatusOr<Surroundings> Around() {
    Surroundings around;
    around.now = clock_.Now();
    ASSIGN_OR_RETURN(around.workers, ReadWorkerFacts(store_, served(), FormatUtc(around.now)));
    return around;
  }

  absl::StatusOr<json> TopLevel(const std::string& path, const std::string& head) {
    if (head == "query") return SqlDocument(store_, params_, clock_);
    if (head == "runs") {
      RETURN_IF_ERROR(CheckParams(params_, {"select"}));
      ASSIGN_OR_RETURN(const RunSpan span, FindRuns(store_, TextParam(params_, "select", "all")));
      ASSIGN_OR_RETURN(const Surroundings around, Around());
      return RunsDocument(store_, span, around);
    }
    RETURN_IF_ERROR(CheckParams(params_, {}));
    if (head == "sweeps") {
      ASSIGN_OR_RETURN(const Surroundings around, Around());
      return SweepsDocument(store_, around);
    }
    if (head == "workers") return WorkersDocument(store_, served());
    if (head == "knobs") return KnobsDocument();
    if (head == "server") return ServerDocument();
    return Nothing(path);
  }

  absl::StatusOr<json> OfSweep(const std::string& path, const std::string& selector,
                               const std::string& what) {
    if (what == "compare") {
      ASSIGN_OR_RETURN(const SweepChoice choice, FindSweep(store_, selector));
      return CompareDocument(store_, choice.sweep, params_);
    }
    if (!what.empty() && what != "runs") return Nothing(path);
    RETURN_IF_ERROR(CheckParams(params_, {}));
    ASSIGN_OR_RETURN(const SweepChoice choice, FindSweep(store_, selector));
    ASSIGN_OR_RETURN(const Surroundings around, Around());
    if (what == "runs") return SweepRunsDocument(store_, choice, around);
    return SweepDocument(store_, choice.sweep, around);
  }

  absl::StatusOr<json> OfRun(const std::string& path, const std::string& selector,
                             const std::string& what) {
    using MakeDocument = absl::StatusOr<json> (*)(ReadOnlyStore&, RunId, const Params&);
    static constexpr std::pair<std::string_view, MakeDocument> kParts[] = {
        {"scalars", ScalarsDocument},
        {"profiles", ProfilesDocument},
        {"events", EventsDocument},
        {"evals", EvalsDocument},
        {"logs", LogsDocument}};
    ASSIGN_OR_RETURN(const RunId run, FindRun(store_, selector));
    if (what.empty()) {
      RETURN_IF_ERROR(CheckParams(params_, {}));
      ASSIGN_OR_RETURN(const Surroundings around, Around());
      return RunDocument(store_, run, around.workers);
    }
    for (const auto& [name, make] : kParts) {
      if (name == what) return make(store_, run, params_);
    }
    return Nothing(path);
  }

  json ServerDocument() const {
    return {{"schema", "normlab.server.v1"},
            {"version", kVersion},
            {"protocol", kProtocolVersion},
            {"trainer_math", kTrainerMath},
            {"instance", facts_.instance},
            {"data", facts_.data},
            {"started_at", served() ? json(facts_.started_at) : json()},
            {"now", FormatUtc(clock_.Now())}};
  }

  ReadOnlyStore& store_;
  Clock& clock_;
  const ServerFacts& facts_;
  const Params& params_;
};

}  // namespace

// A pool of read connections: one for every call under way.
struct QueryApi::Parts {
  absl::StatusOr<std::unique_ptr<ReadOnlyStore>> Take() {
    {
      MutexLock lock(mu);
      if (!idle.empty()) {
        std::unique_ptr<ReadOnlyStore> store = std::move(idle.back());
        idle.pop_back();
        return store;
      }
    }
    return ReadOnlyStore::Open(path);
  }

  void GiveBack(std::unique_ptr<ReadOnlyStore> store) {
    MutexLock lock(mu);
    if (idle.size() < kMaxIdleStores) idle.push_back(std::move(store));
  }

  std::string path;
  Clock* clock = nullptr;
  ServerFacts facts;
  Mutex mu;
  std::vector<std::unique_ptr<ReadOnlyStore>> idle GUARDED_BY(mu);
};

QueryApi::QueryApi(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
QueryApi::~QueryApi() = default;

absl::StatusOr<std::unique_ptr<QueryApi>> QueryApi::Open(const std::string& path, Clock& clock,
                                                         ServerFacts facts) {
  auto parts = std::make_unique<Parts>();
  parts->path = path;
  parts->clock = &clock;
  parts->facts = std::move(facts);
  ASSIGN_OR_RETURN(std::unique_ptr<ReadOnlyStore> first, parts->Take());
  parts->GiveBack(std::move(first));
  return std::unique_ptr<QueryApi>(new QueryApi(std::move(parts)));
}

absl::StatusOr<json> QueryApi::Get(const std::string& path, const Params& params) const {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadOnlyStore> store, parts_->Take());
  absl::StatusOr<json> document;
  {
    const ReadOnlyStore::Snapshot snapshot(*store);
    RETURN_IF_ERROR(snapshot.status());
    document = Request(*store, *parts_->clock, parts_->facts, params).Answer(path);
  }
  parts_->GiveBack(std::move(store));
  return document;
}

}  // namespace normlab::server
