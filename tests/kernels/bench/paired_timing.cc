#include "tests/kernels/bench/paired_timing.h"

#include <algorithm>
#include <cstddef>

#include "absl/time/time.h"

namespace normlab::bench {
namespace {

double SecondsOfCall(const Clock& clock, const std::function<void()>& run) {
  const absl::Time start = clock.MonotonicNow();
  run();
  return absl::ToDoubleSeconds(clock.MonotonicNow() - start);
}

}  // namespace

std::vector<std::vector<double>> TimeInTurn(const Clock& clock,
                                            const std::vector<std::function<void()>>& functions,
                                            const TimingPlan& plan) {
  std::vector<std::vector<double>> seconds(functions.size());
  for (int round = -plan.uncounted; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      double fastest = SecondsOfCall(clock, functions[i]);
      for (int call = 1; call < plan.calls_in_a_row; ++call) {
        fastest = std::min(fastest, SecondsOfCall(clock, functions[i]));
      }
      if (round >= 0) seconds[i].push_back(fastest);
    }
  }
  return seconds;
}

Estimate MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return {at(0.5), (at(0.75) - at(0.25)) / 2};
}

Estimate RatioOf(const std::vector<double>& ours, const std::vector<double>& peer, double weight) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(weight * peer[i] / ours[i]);
  return MedianOf(std::move(ratios));
}

}  // namespace normlab::bench
