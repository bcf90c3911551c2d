#ifndef NORMLAB_SERVER_STORE_SERIES_READER_H_
#define NORMLAB_SERVER_STORE_SERIES_READER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/block_codec.h"

struct sqlite3;

namespace normlab::server {

// Opens blocks and puts the attempts of a run together. Shared by the C++ readers and the
// table-valued functions, so that both give the same numbers.

struct SeriesQuery {
  int64_t run = 0;
  std::string_view key;
  int64_t from = std::numeric_limits<int64_t>::min();  // steps, both included
  int64_t to = std::numeric_limits<int64_t>::max();
};

struct SeriesPoint {
  int64_t step = 0;
  double value = 0;
  int64_t attempt = 0;
};

// Points that count in the run, by step.
absl::StatusOr<std::vector<SeriesPoint>> ReadScalarPoints(sqlite3* db, const SeriesQuery& query);

struct ProfileAt {
  int64_t step = 0;
  int64_t attempt = 0;
  int64_t first_index = 0;
  std::vector<double> values;
};

// Profiles that count in the run, by step; `newest_only`: the last of them.
absl::StatusOr<std::vector<ProfileAt>> ReadProfileVectors(sqlite3* db, const SeriesQuery& query,
                                                          bool newest_only = false);

// n, least, greatest and mean of the finite values, and how many are not finite.
struct ScalarStatistics {
  int64_t n = 0;
  int64_t nonfinite = 0;
  double min = 0;  // 0 when there is no finite value
  double max = 0;
  double mean = 0;
};
ScalarStatistics Summarize(const std::vector<SeriesPoint>& points);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_SERIES_READER_H_
