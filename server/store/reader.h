#ifndef NORMLAB_SERVER_STORE_READER_H_
#define NORMLAB_SERVER_STORE_READER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ids.h"
#include "server/store/read_only_store.h"

namespace normlab::server {

// Steps of a request, both included.
struct StepRange {
  int64_t from = std::numeric_limits<int64_t>::min();
  int64_t to = std::numeric_limits<int64_t>::max();
};

// A run's scalars of one key in order of steps, put together from its attempts along the line of
// parents: every step once, each with the attempt that it comes from. The three have equal length.
struct ScalarSeries {
  std::vector<int64_t> step;
  std::vector<double> value;  // bits as measured, NaN and infinities included
  std::vector<int> attempt;
};

struct ProfileSeries {
  int first_index = 0;  // depth of values[i][0]
  std::vector<int64_t> step;
  std::vector<std::vector<double>> values;
  std::vector<int> attempt;
};

struct EvalPoint {
  int64_t step = 0;
  double val_loss = 0;
  double ppl_of_mean = 0;
  double mean_seq_ppl = 0;
  int attempt = 0;
};

// The newest numbers of a run as the writer keeps them; NaN where NaN was measured, empty where
// nothing was yet.
struct RunSummary {
  int attempt = 0;
  int64_t step = 0;
  int64_t tokens = 0;
  int64_t spikes = 0;
  std::optional<double> train_loss, grad_norm, lr, tokens_per_s;
  std::optional<int64_t> val_step;
  std::optional<double> val_loss, ppl_of_mean, mean_seq_ppl;
  std::optional<double> best_val_loss;
  std::optional<int64_t> best_val_step;
  std::optional<int64_t> first_nonfinite_step;
  std::optional<double> growth_first, growth_last;  // hidden_ma at first and last depth, newest
};

// Reads what is stored in blocks. All exact, nothing sampled. Take a Snapshot of the store around
// calls that must agree with each other.

absl::StatusOr<ScalarSeries> ReadScalars(ReadOnlyStore& store, RunId run, std::string_view key,
                                         const StepRange& range = {});
// At most one profile when `range` is one step; the newest alone: ReadLastProfile.
absl::StatusOr<ProfileSeries> ReadProfiles(ReadOnlyStore& store, RunId run, std::string_view key,
                                           const StepRange& range = {});
absl::StatusOr<ProfileSeries> ReadLastProfile(ReadOnlyStore& store, RunId run,
                                              std::string_view key);
absl::StatusOr<std::vector<EvalPoint>> ReadEvals(ReadOnlyStore& store, RunId run);
// Empty while the run has no records.
absl::StatusOr<std::optional<RunSummary>> ReadSummary(ReadOnlyStore& store, RunId run);

// Keys that the run has, sorted.
absl::StatusOr<std::vector<std::string>> ScalarKeys(ReadOnlyStore& store, RunId run);
absl::StatusOr<std::vector<std::string>> ProfileKeys(ReadOnlyStore& store, RunId run);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_READER_H_
