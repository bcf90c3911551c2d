#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json.h"
#include "core/random.h"
#include "core/strings.h"
#include "core/sweep/expansion.h"

// What must hold for any sweep, tried on random ones. The seed in a failure is the bug report.

namespace normlab {
namespace {

constexpr uint64_t kSpecs = 60;
constexpr int kMaxChoiceFactors = 3;

// Picks about `share` of the choices, at least one, in table order.
std::vector<std::string_view> Some(RandomSource& random, std::vector<std::string_view> choices) {
  std::vector<std::string_view> picked;
  for (std::string_view choice : choices) {
    if (random.Next() % 3 == 0) picked.push_back(choice);
  }
  if (picked.empty()) picked.push_back(choices[random.Next() % choices.size()]);
  return picked;
}

// A sweep over some choice knobs, a real one, exclusions and seeds; always a good file.
std::string RandomSweep(RandomSource& random) {
  std::string text = "base: {data: {name: kjv}}\nfactors:\n";
  std::vector<std::string> exclude;
  for (const Knob& knob : Knobs()) {
    if (knob.affects != Affects::kResult || knob.choices.empty() || random.Next() % 4 != 0) {
      continue;
    }
    const auto levels = Some(random, knob.choices);
    text += Cat("  ", knob.key, ": [", Join(levels, ", "), "]\n");
    if (levels.size() > 1 && random.Next() % 2 == 0) {
      exclude.push_back(Cat("{", knob.key, ": ", levels[random.Next() % levels.size()], "}"));
      if (exclude.size() > 1) exclude.pop_back();
    }
  }
  text += "  residual.dt: {log: [0.1, 1], n: 3}\n";
  text += Cat("exclude: [", Join(exclude, ", "), "]\nreplicates: {seed: [1, 2]}\n");
  return text;
}

SweepSpec Parse(const std::string& text) {
  std::vector<SpecError> errors;
  auto spec = SweepSpec::ParseYaml(text, "random.yaml", errors);
  for (const SpecError& error : errors) ADD_FAILURE() << error.ToString() << "\n" << text;
  return spec.value_or(SweepSpec());
}

TEST(SweepProperties, ExpansionIsDeterministicAndSurvivesTheWire) {
  for (uint64_t seed = 1; seed <= kSpecs; ++seed) {
    SCOPED_TRACE(seed);
    const SweepSpec spec = Parse(RandomSweep(*SeededRandom(seed)));
    const Expansion one = Expand(spec);
    const auto received = SweepSpec::FromJson(*ParseJson(DumpStrict(spec.ToJson())));
    ASSERT_TRUE(received.ok()) << received.status().ToString();
    const Expansion two = Expand(*received);
    ASSERT_EQ(one.members.size(), two.members.size());
    EXPECT_EQ(one.Summary(), two.Summary());
    for (size_t i = 0; i < one.members.size(); ++i) {
      ASSERT_EQ(one.members[i].canonical_json, two.members[i].canonical_json);
      ASSERT_EQ(one.members[i].cell, two.members[i].cell);
    }
  }
}

TEST(SweepProperties, EveryCombinationIsInOneCellAndEveryCellIsAnotherRun) {
  for (uint64_t seed = 1; seed <= kSpecs; ++seed) {
    SCOPED_TRACE(seed);
    const SweepSpec spec = Parse(RandomSweep(*SeededRandom(seed)));
    const Expansion expansion = Expand(spec);
    std::set<std::string> identities;
    for (const Member& member : expansion.members) identities.insert(member.identity);
    EXPECT_EQ(identities.size(), expansion.members.size());
    EXPECT_EQ(expansion.members.size(), expansion.cells.size() * spec.seeds.size());
    int64_t in_cells = static_cast<int64_t>(expansion.cells.size());
    for (const Merge& merge : expansion.merges) in_cells += merge.combinations - 1;
    EXPECT_EQ(in_cells + expansion.excluded, expansion.combinations);
    const auto baselines = std::count_if(expansion.cells.begin(), expansion.cells.end(),
                                         [](const Cell& cell) { return cell.baseline; });
    EXPECT_EQ(baselines, 1);
  }
}

// The config of a run read back from its own JSON, whose keys come in another order, is that run.
TEST(SweepProperties, IdentityDoesNotDependOnHowAConfigIsWritten) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    for (const Member& member : Expand(Parse(RandomSweep(*SeededRandom(seed)))).members) {
      const auto nested = RunConfig::FromJson(member.config.ToJson());
      const auto flat = RunConfig::FromJson(member.config.ToJson().flatten().unflatten());
      ASSERT_TRUE(nested.ok() && flat.ok());
      ASSERT_EQ(nested->Identity(""), member.identity);
      ASSERT_EQ(flat->Identity(""), member.identity);
    }
  }
}

// Whatever the file: an answer, and each error on one line with a place in the file.
TEST(SweepProperties, DamagedFilesNeverCrash) {
  constexpr std::string_view kBytes = "[]{}:,-#'\"&*!|>%@ \n\tabc019.\xff";
  int refused = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    const auto random = SeededRandom(seed);
    std::string text = RandomSweep(*random);
    for (uint64_t edits = 1 + random->Next() % 4; edits > 0; --edits) {
      text[random->Next() % text.size()] = kBytes[random->Next() % kBytes.size()];
    }
    std::vector<SpecError> errors;
    const auto spec = SweepSpec::ParseYaml(text, "f", errors);
    EXPECT_EQ(spec.has_value(), errors.empty()) << seed;
    refused += spec ? 0 : 1;
    for (const SpecError& error : errors) {
      EXPECT_EQ(error.message.find('\n'), std::string::npos) << seed << error.ToString();
      EXPECT_GT(error.line, 0) << seed << error.ToString();
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace normlab
