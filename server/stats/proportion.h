#ifndef NORMLAB_SERVER_STATS_PROPORTION_H_
#define NORMLAB_SERVER_STATS_PROPORTION_H_

#include <cstdint>
#include <optional>

#include "server/stats/sample.h"

namespace normlab::server {

// Wilson's score interval of a share of k in n: stays within [0, 1], has a width at 0 of n and at
// n of n, and covers about as often as it says even for the few seeds that a sweep has. Empty for
// n = 0. 0 ≤ k ≤ n; `confidence` is in (0, 1).
std::optional<Interval> WilsonInterval(int64_t k, int64_t n, double confidence = 0.95);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STATS_PROPORTION_H_
