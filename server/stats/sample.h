#ifndef NORMLAB_SERVER_STATS_SAMPLE_H_
#define NORMLAB_SERVER_STATS_SAMPLE_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace normlab::server {

struct Interval {
  double low = 0;
  double high = 0;
};

// One arm's numbers in short. Non-finite values are counted and enter nothing else.
struct SampleSummary {
  int64_t n = 0;          // finite values
  int64_t nonfinite = 0;  // NaN and infinities
  std::optional<double> mean;
  std::optional<double> sd;  // n − 1 in the denominator; empty below two values
  std::optional<double> min;
  std::optional<double> max;
  // Student-t interval of the mean; empty below two values, since one value says nothing of spread.
  std::optional<Interval> mean_interval;
};

// Two passes (mean, then squared deviations), so that a large mean costs no digits and equal values
// have deviation exactly 0. `confidence` is in (0, 1).
SampleSummary Summarize(const std::vector<double>& values, double confidence = 0.95);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STATS_SAMPLE_H_
