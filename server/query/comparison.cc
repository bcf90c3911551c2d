#include "server/query/comparison.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/strings.h"
#include "server/stats/paired.h"
#include "server/stats/proportion.h"

namespace normlab::server {
namespace {

using RunsOfArm = std::vector<const ComparedRun*>;

void CountStates(const RunsOfArm& runs, Arm& arm) {
  for (const ComparedRun* run : runs) {
    ++arm.planned;
    if (run->state == RunState::kFailed) ++arm.failed;
    if (run->state == RunState::kCancelled) ++arm.cancelled;
    if (!IsFinal(run->state)) ++arm.open;
    if (run->state != RunState::kDone) continue;
    ++arm.done;
    if (!run->value) ++arm.without_value;
    if (run->outcome == Outcome::kCensored) ++arm.censored;
    if (run->outcome == Outcome::kDiverged) ++arm.diverged;
    if (run->outcome == Outcome::kDiverged || run->outcome == Outcome::kHealthy) ++arm.judged;
  }
}

// The factors that apply to every run of both arms.
std::set<std::string> SharedFactors(const RunsOfArm& arm, const RunsOfArm& baseline) {
  std::set<std::string> shared;
  if (arm.empty() || baseline.empty()) return shared;
  for (const auto& [key, level] : arm.front()->rest) shared.insert(key);
  for (const RunsOfArm* runs : {&arm, &baseline}) {
    for (const ComparedRun* run : *runs) {
      std::erase_if(shared, [run](const std::string& key) { return !run->rest.contains(key); });
    }
  }
  return shared;
}

// The mean of each group of runs that are alike in what is shared; a group of which a run has no
// value has none, since the others alone would be another question's answer.
ByPair ValuesByPair(const RunsOfArm& runs, const std::set<std::string>& shared) {
  std::map<std::string, RunsOfArm> groups;
  for (const ComparedRun* run : runs) {
    std::string pair = Cat(run->seed);
    for (const std::string& key : shared) pair += Cat("/", run->rest.at(key));
    groups[pair].push_back(run);
  }
  ByPair values;
  for (const auto& [pair, group] : groups) {
    double sum = 0;
    const bool complete = std::all_of(group.begin(), group.end(), [&sum](const ComparedRun* run) {
      if (run->value) sum += *run->value;
      return run->value.has_value();
    });
    if (complete) values.emplace(pair, sum / static_cast<double>(group.size()));
  }
  return values;
}

std::optional<Difference> DifferenceOf(const RunsOfArm& arm, const RunsOfArm& baseline) {
  const std::set<std::string> shared = SharedFactors(arm, baseline);
  const std::vector<double> differences =
      PairedDifferences(ValuesByPair(arm, shared), ValuesByPair(baseline, shared));
  if (differences.empty()) return std::nullopt;
  return Difference{Summarize(differences), SignFlipPValue(differences)};
}

Arm ArmOf(const std::string& label, const RunsOfArm& runs) {
  Arm arm;
  arm.label = label;
  CountStates(runs, arm);
  std::vector<double> values;
  std::vector<double> speeds;
  std::vector<DepthGrowth> growths;
  for (const ComparedRun* run : runs) {
    if (run->value) values.push_back(*run->value);
    if (run->tokens_per_s) speeds.push_back(*run->tokens_per_s);
    if (run->growth && run->state == RunState::kDone) growths.push_back(*run->growth);
  }
  arm.value = Summarize(values);
  arm.tokens_per_s = Summarize(speeds).mean;
  arm.growth = MeanGrowth(growths);
  arm.diverged_interval = WilsonInterval(arm.diverged, arm.judged);
  return arm;
}

// "post: 1 of 2 runs …" for every arm where `count` is not 0.
void NotePerArm(const std::vector<Arm>& arms, int64_t Arm::*count, const std::string& what,
                std::vector<std::string>& notes) {
  for (const Arm& arm : arms) {
    if (arm.*count == 0) continue;
    notes.push_back(Cat(arm.label, ": ", arm.*count, " of ", arm.planned, " runs ", what));
  }
}

}  // namespace

std::vector<Arm> CompareArms(const std::vector<ComparedRun>& runs, const std::string& baseline) {
  std::vector<std::string> order;
  std::map<std::string, RunsOfArm> by_arm;
  for (const ComparedRun& run : runs) {
    if (!by_arm.contains(run.arm)) order.push_back(run.arm);
    by_arm[run.arm].push_back(&run);
  }
  std::vector<Arm> arms;
  for (const std::string& label : order) {
    arms.push_back(ArmOf(label, by_arm[label]));
    if (label != baseline) {
      arms.back().difference = DifferenceOf(by_arm[label], by_arm[baseline]);
    }
  }
  return arms;
}

std::vector<std::string> ComparisonNotes(const std::vector<Arm>& arms, const RunCounts& counts) {
  std::vector<std::string> notes;
  int64_t fewest = 0;
  for (const Arm& arm : arms) {
    if (arm.value.n > 0) fewest = fewest == 0 ? arm.value.n : std::min(fewest, arm.value.n);
  }
  if (counts.open > 0) {
    notes.push_back(Cat(counts.open, " of ", counts.planned, " runs are not finished"));
  }
  NotePerArm(arms, &Arm::failed, "failed", notes);
  NotePerArm(arms, &Arm::cancelled, "were cancelled", notes);
  NotePerArm(arms, &Arm::censored, "were censored: neither healthy nor diverged", notes);
  NotePerArm(arms, &Arm::without_value, "ended before their last step and have no final value",
             notes);
  for (const Arm& arm : arms) {
    if (arm.value.nonfinite == 0) continue;
    notes.push_back(Cat(arm.label, ": ", arm.value.nonfinite, " of ", arm.planned,
                        " runs ended with a value that is not finite, which enters no mean"));
  }
  if (fewest == 1) {
    notes.emplace_back("one run says nothing of spread: an arm of n = 1 has no interval");
  }
  if (fewest == 2) {
    notes.emplace_back("intervals from n = 2 are very wide; more seeds narrow them fast");
  }
  return notes;
}

}  // namespace normlab::server
