// bench-trainer: a training step of our trainer against the same model in eager PyTorch, in one
// run, each in turn on the same threads. `bench-trainer --help` tells the options.
//
// step/<preset>/<placement>/vs_torch_eager and step/<preset>/geo_vs_pre are ratios of times: above
// 1 the first named is the faster. A step is 8 sequences of 128 tokens.
// probe/<preset>/cost is the share of a run's time that all probes take at every 50th step.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/placement_facts.h"
#include "core/presets.h"
#include "core/status.h"
#include "model/environment.h"
#include "tests/bench/probe_cost.h"
#include "tests/bench/trainer_arm.h"
#include "tests/builders/temp_dir.h"
#include "tests/kernels/bench/report.h"

namespace normlab::bench {
namespace {

// From here on a step takes seconds, so that three tell as much as 45 short ones.
constexpr int64_t kLongStepWidth = 768;

struct Plan {
  std::vector<std::string> placements;
  int threads = 1;
  TimingPlan timing;
};

Estimate Milliseconds(std::vector<double> seconds) {
  for (double& value : seconds) value *= 1e3;
  return MedianOf(std::move(seconds));
}

// Two columns of times an arm: ours, eager.
void AddRows(const std::string& preset, const std::vector<std::string>& placements,
             const std::vector<std::vector<double>>& seconds, Report& report) {
  const std::vector<double>*pre = nullptr, *geo = nullptr;
  for (size_t i = 0; i < placements.size(); ++i) {
    const std::vector<double>&ours = seconds[2 * i], &eager = seconds[2 * i + 1];
    const std::string name = absl::StrCat("step/", preset, "/", placements[i]);
    report.Add(name + "/ms", Milliseconds(ours), "ms");
    report.Add(name + "/torch_eager_ms", Milliseconds(eager), "ms");
    report.Add(name + "/vs_torch_eager", RatioOf(ours, eager, 1), "ratio");
    if (placements[i] == "pre") pre = &ours;
    if (placements[i] == "geo") geo = &ours;
  }
  if (pre != nullptr && geo != nullptr) {
    report.Add(absl::StrCat("step/", preset, "/geo_vs_pre"), RatioOf(*geo, *pre, 1), "ratio");
  }
}

// Placements that are there at the same time and take turns: those that are compared with each
// other. Each of the others alone, for an arm of a large preset is gigabytes on either side.
std::vector<std::vector<std::string>> Groups(const std::vector<std::string>& placements) {
  std::vector<std::vector<std::string>> groups(1);
  for (const std::string& placement : placements) {
    if (placement == "pre" || placement == "geo") {
      groups[0].push_back(placement);
    } else {
      groups.push_back({placement});
    }
  }
  if (groups[0].empty()) groups.erase(groups.begin());
  return groups;
}

absl::Status MeasureSteps(const std::string& preset, const std::vector<std::string>& placements,
                          const Plan& plan, const TempDir& dir, const std::string& data,
                          Report& report) {
  std::vector<std::unique_ptr<TrainerArm>> arms;
  std::vector<std::function<void()>> functions;
  for (const std::string& placement : placements) {
    ASSIGN_OR_RETURN(const RunConfig config, BenchConfig(preset, placement));
    ASSIGN_OR_RETURN(std::unique_ptr<TrainerArm> arm,
                     TrainerArm::Create(config, data, dir.path(), plan.threads));
    arm->StepOurs();
    arm->StepEager();
    RETURN_IF_ERROR(AddContext(arm->CheckSameLosses(), absl::StrCat(preset, "/", placement)));
    functions.emplace_back([raw = arm.get()] { raw->StepOurs(); });
    functions.emplace_back([raw = arm.get()] { raw->StepEager(); });
    arms.push_back(std::move(arm));
  }
  const std::vector<std::vector<double>> seconds =
      TimeInTurn(SystemClock(), functions, plan.timing);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    RETURN_IF_ERROR(
        AddContext(arms[i]->CheckSameLosses(), absl::StrCat(preset, "/", placements[i])));
  }
  AddRows(preset, placements, seconds, report);
  return absl::OkStatus();
}

// Of `geo`, which has the most profiles.
absl::Status MeasureProbes(const std::string& preset, const Plan& plan, const TempDir& dir,
                           const std::string& data, Report& report) {
  constexpr int kProbeEvery = 50;
  ASSIGN_OR_RETURN(const RunConfig config, BenchConfig(preset, "geo"));
  ASSIGN_OR_RETURN(const std::vector<ProbeTimes> times,
                   TimeProbes(config, data, dir.File("checkpoints"), plan.threads, plan.timing));
  report.Add(absl::StrCat("probe/", preset, "/cost"), ProbeShare(times, kProbeEvery), "share");
  return absl::OkStatus();
}

absl::Status MeasurePreset(const std::string& preset, const Plan& plan, Report& report) {
  RETURN_IF_ERROR(BenchConfig(preset, "pre").status());  // there is such a preset
  const TempDir dir;
  ASSIGN_OR_RETURN(const std::string data, MakeBenchDataset(dir.path(), preset));
  Plan fitting = plan;
  if (FindPreset(preset).width >= kLongStepWidth) {
    fitting.timing = {std::min(plan.timing.rounds, 3), /*calls_in_a_row=*/1, /*uncounted=*/1};
  }
  for (const std::vector<std::string>& placements : Groups(plan.placements)) {
    RETURN_IF_ERROR(MeasureSteps(preset, placements, fitting, dir, data, report));
  }
  return MeasureProbes(preset, fitting, dir, data, report);
}

std::vector<std::string> AllPlacements() {
  std::vector<std::string> names;
  for (const PlacementFacts& facts : Placements()) names.emplace_back(facts.name);
  return names;
}

absl::Status Run(const std::vector<std::string>& presets, const Plan& plan, Report& report) {
  model::SetUpCompute(plan.threads, /*deterministic=*/false);
  for (const std::string& preset : presets) {
    RETURN_IF_ERROR(MeasurePreset(preset, plan, report));
  }
  report.Print();
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Plan plan;
  plan.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  plan.placements = {"pre", "geo"};
  std::vector<std::string> presets = {"nano", "micro", "gpt2-124m"};
  bool json = false;
  CLI::App app(
      "Times whole training steps (8 x 128 tokens, fp32) against the same model in eager PyTorch, "
      "step\n"
      "by step in turn, and what a probe adds to a step. Ratios above 1 mean that ours is faster.",
      "bench-trainer");
  app.add_flag("--json", json, "print an array of {name, value, unit, spread}, at the end");
  app.add_option("--presets", presets, "instead of nano,micro,gpt2-124m")->delimiter(',');
  app.add_option("--placements", plan.placements, "instead of pre,geo; all: every placement")
      ->delimiter(',');
  app.add_option("--rounds", plan.timing.rounds,
                 "rounds in which ours and the peer take turns (15)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--threads", plan.threads, "threads of both sides (as many as there are cores)")
      ->check(CLI::Range(1, 4096));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (plan.placements == std::vector<std::string>{"all"}) plan.placements = AllPlacements();
  Report report(json);
  const absl::Status status = Run(presets, plan, report);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench-trainer: could not measure: %s\n",
               std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace normlab::bench

int main(int argc, char** argv) {
  normlab::model::WaitPassively(argv);
  return normlab::bench::Main(argc, argv);
}
