#include "tests/bench/probe_cost.h"

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

}  // namespace

absl::StatusOr<std::vector<ProbeTimes>> TimeProbes(RunConfig config, const std::string& data_dir,
                                                   const std::string& dir, int threads,
                                                   const TimingPlan& plan) {
  RETURN_IF_ERROR(config.Parse("probe.every", std::to_string(ProbeTimer::kCycle)));
  RETURN_IF_ERROR(config.Parse("eval.every", config.ValueText("train.steps")));
  RETURN_IF_ERROR(config.Parse("checkpoint.every", "0"));
  model::TrainSetup setup;
  setup.config = config;
  setup.data_dir = data_dir;
  setup.checkpoint_dir = dir;
  setup.threads = threads;
  NoSink sink;
  ASSIGN_OR_RETURN(const auto loop, model::TrainLoop::Create(setup, sink, SystemClock()));
  const size_t probes = static_cast<size_t>(plan.rounds) * plan.calls_in_a_row;
  ProbeTimer timer(SystemClock(), plan.uncounted);
  const auto enough = [&] {
    timer.StepEnds();
    return timer.times().size() == probes;
  };
  RETURN_IF_ERROR(loop->Run(enough).status());
  return timer.times();
}

}  // namespace normlab::bench
