#ifndef NORMLAB_SERVER_QUERY_LOOKUP_H_
#define NORMLAB_SERVER_QUERY_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/ids.h"

namespace normlab::server {

class ReadOnlyStore;

struct SweepChoice {
  SweepId sweep;
  CellNumber cell;  // none: the whole sweep
};

// What a selector where a sweep is wanted stands for: "last", "s3", a name or its unique prefix,
// "s3/c4". NotFound says what there is; InvalidArgument for one that names runs or several sweeps.
absl::StatusOr<SweepChoice> FindSweep(ReadOnlyStore& store, const std::string& selector);

// The same where a run is wanted: "r37", "s3/c4/2"; and "last": the run that started last.
// Runs by number: of "all", "r37", "r37-r40" or "s3/c4/2".
struct RunSpan {
  RunId first;
  RunId last;
};
absl::StatusOr<RunSpan> FindRuns(ReadOnlyStore& store, const std::string& text);

absl::StatusOr<RunId> FindRun(ReadOnlyStore& store, const std::string& selector);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_LOOKUP_H_
