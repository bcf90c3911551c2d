#include "server/stats/sample.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "core/check.h"

namespace normlab::server {
namespace {

double Mean(const std::vector<double>& values) {
  // Deviations from the first value are summed instead of the values: exact for equal ones, and a
  // sum of large numbers cannot overflow before it is divided.
  double sum = 0;
  for (const double value : values) sum += value - values[0];
  return values[0] + sum / static_cast<double>(values.size());
}

double StandardDeviation(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Half width of the two-sided interval, in standard errors.
double StudentQuantile(int64_t n, double confidence) {
  const boost::math::students_t distribution(static_cast<double>(n - 1));
  return boost::math::quantile(boost::math::complement(distribution, (1 - confidence) / 2));
}

}  // namespace

SampleSummary Summarize(const std::vector<double>& values, double confidence) {
  CHECK(confidence > 0 && confidence < 1);
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  SampleSummary summary;
  summary.n = static_cast<int64_t>(finite.size());
  summary.nonfinite = static_cast<int64_t>(values.size() - finite.size());
  if (finite.empty()) return summary;
  const double mean = Mean(finite);
  summary.mean = mean;
  summary.min = *std::min_element(finite.begin(), finite.end());
  summary.max = *std::max_element(finite.begin(), finite.end());
  if (finite.size() < 2) return summary;
  summary.sd = StandardDeviation(finite, mean);
  const double half = StudentQuantile(summary.n, confidence) * *summary.sd /
                      std::sqrt(static_cast<double>(summary.n));
  summary.mean_interval = Interval{mean - half, mean + half};
  return summary;
}

}  // namespace normlab::server
