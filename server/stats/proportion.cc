#include "server/stats/proportion.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "core/check.h"

namespace normlab::server {

std::optional<Interval> WilsonInterval(int64_t k, int64_t n, double confidence) {
  CHECK(0 <= k && k <= n);
  CHECK(confidence > 0 && confidence < 1);
  if (n == 0) return std::nullopt;
  const double z =
      boost::math::quantile(boost::math::complement(boost::math::normal(), (1 - confidence) / 2));
  const double count = static_cast<double>(n);
  const double share = static_cast<double>(k) / count;
  const double weight = 1 + z * z / count;
  const double centre = (share + z * z / (2 * count)) / weight;
  const double half =
      z / weight * std::sqrt(share * (1 - share) / count + z * z / (4 * count * count));
  // The formula gives exactly 0 and 1 at the ends; rounding does not.
  return Interval{k == 0 ? 0 : std::max(0.0, centre - half),
                  k == n ? 1 : std::min(1.0, centre + half)};
}

}  // namespace normlab::server
