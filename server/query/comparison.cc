#include "server/query/comparison.h"

#include <algorithm>
#include <map>

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

std::optional<Difference> DifferenceOf(const RunsOfArm& arm, const RunsOfArm& baseline) {
  const auto by_pair = [](const RunsOfArm& runs) {
    ByPair values;
    for (const ComparedRun* run : runs) {
      if (run->value) values.emplace(run->pair, *run->value);
    }
    return values;
  };
  const std::vector<double> differences = PairedDifferences(by_pair(arm), by_pair(baseline));
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

std::vector<std::string> ComparisonNotes(const std::vector<Arm>& arms) {
  std::vector<std::string> notes;
  int64_t open = 0;
  int64_t planned = 0;
  int64_t fewest = 0;
  for (const Arm& arm : arms) {
    open += arm.open;
    planned += arm.planned;
    if (arm.value.n > 0) fewest = fewest == 0 ? arm.value.n : std::min(fewest, arm.value.n);
  }
  if (open > 0) notes.push_back(Cat(open, " of ", planned, " runs are not finished"));
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
  if (fewest == 1)
    notes.emplace_back("one run says nothing of spread: an arm of n = 1 has no interval");
  if (fewest == 2)
    notes.emplace_back("intervals from n = 2 are very wide; more seeds narrow them fast");
  return notes;
}

}  // namespace normlab::server
