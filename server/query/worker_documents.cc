#include "server/query/worker_documents.h"

#include <map>
#include <utility>

#include "core/ids.h"
#include "core/status.h"
#include "nlohmann/json.hpp"
#include "server/query/row_view.h"
#include "server/store/read_only_store.h"

namespace normlab::server {

using nlohmann::json;

namespace {

std::vector<GpuDevice> ReadGpus(const json& gpus) {
  std::vector<GpuDevice> devices;
  for (const json& gpu : gpus) {
    devices.push_back(
        {gpu.value("id", ""), gpu.value("name", ""), gpu.value("memory_bytes", int64_t{0})});
  }
  return devices;
}

WorkerFacts FactsOf(const RowView& row, bool served, const std::string& now) {
  WorkerFacts facts;
  facts.id = row.Text("id");
  facts.connected = served && row.Text("state") == "connected";
  facts.draining = row.Int("draining") != 0;
  // Both are ISO 8601 of one width, so that text order is time order.
  facts.quarantined = !row.IsNull("quarantined_until") && now < row.Text("quarantined_until");
  facts.versions = {static_cast<int>(row.Int("protocol")),
                    row.Text("build"),
                    row.Text("trainer_build"),
                    static_cast<int>(row.Int("trainer_math")),
                    row.Text("torch"),
                    row.Text("isa"),
                    row.Text("trainer_error")};
  facts.resources = {row.Text("host"), static_cast<int>(row.Int("slots")), row.Int("cpus"),
                     row.Int("memory_bytes"), ReadGpus(row.Parsed("gpus"))};
  facts.busy = static_cast<int>(row.Int("busy"));
  return facts;
}

// Worker → the runs that it is doing.
using RunLists = std::map<std::string, json>;  // by worker

absl::StatusOr<RunLists> RunsByWorker(ReadOnlyStore& store) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT worker, run FROM attempt WHERE state = 'running' "
                               "ORDER BY worker, run"));
  RunLists runs;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    runs[row.Text("worker")].push_back(ToString(RunId(row.Int("run"))));
  }
  return runs;
}

absl::StatusOr<SqlRows> QueryWorkers(ReadOnlyStore& store) {
  return store.Query(
      "SELECT w.*, (SELECT count(*) FROM attempt a WHERE a.state = 'running' AND a.worker = w.id) "
      "AS busy FROM worker w ORDER BY w.id");
}

}  // namespace

absl::StatusOr<std::vector<WorkerFacts>> ReadWorkerFacts(ReadOnlyStore& store, bool served,
                                                         const std::string& now) {
  ASSIGN_OR_RETURN(const SqlRows rows, QueryWorkers(store));
  std::vector<WorkerFacts> facts;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    facts.push_back(FactsOf(RowView(rows, i), served, now));
  }
  return facts;
}

absl::StatusOr<json> WorkersDocument(ReadOnlyStore& store, bool served) {
  ASSIGN_OR_RETURN(const SqlRows rows, QueryWorkers(store));
  ASSIGN_OR_RETURN(RunLists runs, RunsByWorker(store));
  json workers = json::array();
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    const std::string id = row.Text("id");
    workers.push_back({{"id", id},
                       {"host", row.Json("host")},
                       {"state", served ? row.Text("state") : "lost"},
                       {"draining", row.Int("draining") != 0},
                       {"slots", row.Json("slots")},
                       {"busy", row.Json("busy")},
                       {"cpus", row.Json("cpus")},
                       {"memory_bytes", row.Json("memory_bytes")},
                       {"gpus", row.Parsed("gpus")},
                       {"isa", row.Json("isa")},
                       {"torch", row.Json("torch")},
                       {"trainer_math", row.Json("trainer_math")},
                       {"trainer_error", row.JsonOrNull("trainer_error")},
                       {"quarantined_until", row.Json("quarantined_until")},
                       {"last_seen_at", row.Json("last_seen_at")},
                       {"local", row.Int("local") != 0},
                       {"runs", runs.contains(id) ? runs.at(id) : json::array()}});
  }
  return json{{"schema", "normlab.workers.v1"}, {"workers", std::move(workers)}};
}

}  // namespace normlab::server
