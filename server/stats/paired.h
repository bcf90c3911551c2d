#ifndef NORMLAB_SERVER_STATS_PAIRED_H_
#define NORMLAB_SERVER_STATS_PAIRED_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/stats/sample.h"

namespace normlab::server {

// What one arm measured, by what pairs it with the other arm: the seed (and whatever else
// the two have in common). Equal seeds have equal data
// order and, where shapes agree, equal initial weights, so that the difference within a pair is
// much less noisy than the difference of means.
using ByPair = std::map<std::string, double>;

// arm − baseline for every pair in which both are finite, in the order of the pairs.
std::vector<double> PairedDifferences(const ByPair& arm, const ByPair& baseline);

// Exact two-sided p-value of the sign-flip test: the share of all 2ⁿ choices of signs for which the
// mean is at least as far from 0 as the observed one. Assumes only that the differences would be
// symmetric around 0 if the arms were equal. Its least possible value is 2/2ⁿ: 0.5 for two pairs,
// 0.0625 for five. Empty without differences, and above 20 of them (too many choices to list).
std::optional<double> SignFlipPValue(const std::vector<double>& differences);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STATS_PAIRED_H_
