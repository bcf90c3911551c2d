#ifndef NORMLAB_SERVER_QUERY_COMPARE_DOCUMENT_H_
#define NORMLAB_SERVER_QUERY_COMPARE_DOCUMENT_H_

#include "absl/status/statusor.h"
#include "core/ids.h"
#include "nlohmann/json_fwd.hpp"
#include "server/query/params.h"

namespace normlab::server {

class ReadOnlyStore;

// normlab.compare.v1; the arms of a sweep side by side.
//   by=KEY        one arm per level of that factor; default: one per cell
//   metric=NAME   of the run summary; default val_loss
//   pair=seed     runs with equal seeds (and, under `by`, equal other factors) are partners
//   baseline=ARM  default: the sweep's own
// InvalidArgument says what each may be.
absl::StatusOr<nlohmann::json> CompareDocument(ReadOnlyStore& store, SweepId sweep,
                                               const Params& params);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_COMPARE_DOCUMENT_H_
