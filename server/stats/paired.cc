#include "server/stats/paired.h"

#include <cmath>
#include <cstdint>

namespace normlab::server {
namespace {

constexpr size_t kMaxFlips = 20;

}  // namespace

std::vector<double> PairedDifferences(const ByPair& arm, const ByPair& baseline) {
  std::vector<double> differences;
  for (const auto& [pair, value] : arm) {
    const auto other = baseline.find(pair);
    if (other == baseline.end()) continue;
    if (!std::isfinite(value) || !std::isfinite(other->second)) continue;
    differences.push_back(value - other->second);
  }
  return differences;
}

std::optional<double> SignFlipPValue(const std::vector<double>& differences) {
  const size_t n = differences.size();
  if (n == 0 || n > kMaxFlips) return std::nullopt;
  double observed = 0;
  double scale = 0;
  for (const double difference : differences) {
    observed += difference;
    scale += std::abs(difference);
  }
  // Sums of the same numbers in another order may differ in the last bits and must still tie.
  const double limit = std::abs(observed) - 1e-12 * scale;
  const uint64_t choices = uint64_t{1} << n;
  uint64_t extreme = 0;
  for (uint64_t signs = 0; signs < choices; ++signs) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += (signs >> i & 1) ? differences[i] : -differences[i];
    if (std::abs(sum) >= limit) ++extreme;
  }
  return static_cast<double>(extreme) / static_cast<double>(choices);
}

}  // namespace normlab::server
