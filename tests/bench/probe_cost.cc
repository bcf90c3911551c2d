#include "tests/bench/probe_cost.h"

#include <algorithm>
#include <limits>

#include "absl/time/time.h"
#include "core/clock.h"
#include "core/status.h"
#include "model/train_loop.h"

namespace normlab::bench {
namespace {

class NoSink : public model::RecordSink {
 public:
  absl::Status Write(const Record&) override { return absl::OkStatus(); }
  absl::Status Sync() override { return absl::OkStatus(); }
};

// Asked once a step whether to stop, it takes the time since it was asked before.
class StepTimer {
 public:
  StepTimer(const Clock& clock, const TimingPlan& plan) : clock_(clock), plan_(plan) {}

  bool StepEnds() {
    const absl::Time now = clock_.MonotonicNow();
    const double seconds = absl::ToDoubleSeconds(now - mark_);
    mark_ = now;
    ++step_;
    double& fastest = step_ % 2 == 0 ? probed_ : plain_;
    fastest = std::min(fastest, seconds);
    if (step_ % (int64_t{2} * plan_.calls_in_a_row) == 0) EndRound();
    return round_ == plan_.rounds;
  }

  ProbeTimes times;

 private:
  void EndRound() {
    if (round_ >= 0) {
      times.plain.push_back(plain_);
      times.probed.push_back(probed_);
    }
    ++round_;
    plain_ = probed_ = std::numeric_limits<double>::infinity();
  }

  const Clock& clock_;
  const TimingPlan& plan_;
  absl::Time mark_ = absl::InfinitePast();
  int64_t step_ = 0;
  int round_ = -plan_.uncounted;
  double plain_ = std::numeric_limits<double>::infinity();
  double probed_ = std::numeric_limits<double>::infinity();
};

}  // namespace

absl::StatusOr<ProbeTimes> TimeProbes(RunConfig config, const std::string& data_dir,
                                      const std::string& dir, int threads, const TimingPlan& plan) {
  RETURN_IF_ERROR(config.Parse("probe.every", "2"));
  RETURN_IF_ERROR(config.Parse("eval.every", config.ValueText("train.steps")));
  RETURN_IF_ERROR(config.Parse("checkpoint.every", "0"));
  model::TrainSetup setup;
  setup.config = config;
  setup.data_dir = data_dir;
  setup.checkpoint_dir = dir;
  setup.threads = threads;
  NoSink sink;
  ASSIGN_OR_RETURN(const auto loop, model::TrainLoop::Create(setup, sink, SystemClock()));
  StepTimer timer(SystemClock(), plan);
  RETURN_IF_ERROR(loop->Run([&timer] { return timer.StepEnds(); }).status());
  return std::move(timer.times);
}

Estimate ProbeShare(const ProbeTimes& times, int steps) {
  std::vector<double> shares;
  for (size_t i = 0; i < times.plain.size(); ++i) {
    const double extra = times.probed[i] - times.plain[i];
    shares.push_back(extra / (times.plain[i] * steps + extra));
  }
  return MedianOf(std::move(shares));
}

}  // namespace normlab::bench
