#ifndef NORMLAB_SERVER_QUERY_RUN_ROWS_H_
#define NORMLAB_SERVER_QUERY_RUN_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ids.h"
#include "nlohmann/json_fwd.hpp"
#include "server/query/lookup.h"
#include "server/scheduler/explain.h"

namespace normlab::server {

class ReadOnlyStore;
class RowView;

// The `Run` objects of documents, one per member of the sweep or cell, by cell and then seed. The
// numbers come from the summary that the writer keeps: a listing never opens a series.
absl::StatusOr<nlohmann::json> RunRows(ReadOnlyStore& store, const SweepChoice& choice,
                                       const std::vector<WorkerFacts>& workers);

// Runs by number, both ends included, each once: as the member of the sweep that asked first.
absl::StatusOr<nlohmann::json> RunRange(ReadOnlyStore& store, RunId first, RunId last,
                                        const std::vector<WorkerFacts>& workers);

// One run, as the member of the sweep that asked for it first.
absl::StatusOr<nlohmann::json> RunRow(ReadOnlyStore& store, RunId run,
                                      const std::vector<WorkerFacts>& workers);

// A number of run_summary that is in `column`: NaN where NaN was measured, which the database can
// only hold as NULL and a name in `nan_columns`.
nlohmann::json SummaryNumber(const RowView& row, const std::string& column);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_RUN_ROWS_H_
