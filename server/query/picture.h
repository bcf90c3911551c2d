#ifndef NORMLAB_SERVER_QUERY_PICTURE_H_
#define NORMLAB_SERVER_QUERY_PICTURE_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace normlab::server {

// What a stretch of a curve looks like: enough to draw it without losing a spike.
struct Bucket {
  int64_t from = 0;  // steps, both included
  int64_t to = 0;
  std::optional<double> min;  // over the finite values; empty when there are none
  std::optional<double> max;
  double first = 0;  // as measured, finite or not
  double last = 0;
  int64_t n = 0;
  int64_t nonfinite = 0;
};

// At most `points` buckets of equally many points (give or take one); every point is in exactly
// one. The same series gives the same picture. `step` and `value` have equal length, points >= 1.
std::vector<Bucket> MakePicture(const std::vector<int64_t>& step, const std::vector<double>& value,
                                int64_t points);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_PICTURE_H_
