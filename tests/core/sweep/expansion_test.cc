#include "core/sweep/expansion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"
#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// The methods section of INTERFACES, part 1.
constexpr char kExample[] = R"(
name: placements
base:
  model: {preset: nano, seq_len: 128}
  data: {name: kjv}
  train: {steps: 300, batch: 8}
factors:
  norm.placement: [post, pre, peri, sandwich, deep, geo]
  residual.dt: {log: [0.1, 1.0], n: 2}
exclude: [{norm.placement: post, residual.dt: 0.1}]
replicates: {seed: [1, 2, 3]}
baseline: {norm.placement: pre}
)";

SweepSpec Parse(std::string_view text) {
  std::vector<SpecError> errors;
  auto spec = SweepSpec::ParseYaml(text, "test.yaml", errors);
  for (const SpecError& error : errors) ADD_FAILURE() << error.ToString();
  return spec.value_or(SweepSpec());
}

std::vector<std::string> Labels(const Expansion& expansion) {
  std::vector<std::string> labels;
  for (const Cell& cell : expansion.cells) labels.push_back(cell.label);
  return labels;
}

const DatasetCatalog kCatalog = {{"kjv", {"kjv", std::string(64, 'a'), 256}}};

TEST(Expansion, TheExampleOfTheDocumentation) {
  const Expansion expansion = Expand(Parse(kExample), kCatalog);
  EXPECT_EQ(expansion.Summary(), "12 combinations, 1 excluded, 8 cells × 3 seeds = 24 runs");
  EXPECT_THAT(Labels(expansion),
              ElementsAre("post dt=1", "pre dt=0.1", "pre dt=1", "peri dt=0.1 = sandwich dt=0.1",
                          "peri dt=1 = sandwich dt=1", "deep dt=0.1", "deep dt=1", "geo"));
  ASSERT_EQ(expansion.merges.size(), 3u);
  EXPECT_EQ(expansion.merges[0].cell, CellNumber(4));
  EXPECT_THAT(expansion.merges[0].names, ElementsAre("peri dt=0.1", "sandwich dt=0.1"));
  EXPECT_THAT(expansion.merges[2].ignored_factors, ElementsAre("residual.dt"));
  EXPECT_EQ(expansion.merges[2].combinations, 2);
  EXPECT_THAT(expansion.cells[7].factors(), ElementsAre(Pair("norm.placement", "geo")));
  EXPECT_THAT(expansion.cells[3].factors(),
              ElementsAre(Pair("norm.placement", "peri"), Pair("residual.dt", "0.1")));
  ASSERT_EQ(expansion.cells[3].combinations.size(), 2u);
  EXPECT_THAT(expansion.cells[3].combinations[1],
              ElementsAre(Pair("norm.placement", "sandwich"), Pair("residual.dt", "0.1")));
  EXPECT_EQ(expansion.cells[7].combinations.size(), 1u) << "its two Δt are one";
}

TEST(Expansion, BaselineIsTheFirstCellThatMatches) {
  const Expansion expansion = Expand(Parse(kExample), kCatalog);
  for (const Cell& cell : expansion.cells) {
    EXPECT_EQ(cell.baseline, cell.number == CellNumber(2)) << cell.label;
  }
}

TEST(Expansion, MembersGoByCellThenSeedAndCarryTheirIdentity) {
  const Expansion expansion = Expand(Parse(kExample), kCatalog);
  ASSERT_EQ(expansion.members.size(), 24u);
  std::vector<std::string> identities;
  for (size_t i = 0; i < expansion.members.size(); ++i) {
    const Member& member = expansion.members[i];
    EXPECT_EQ(member.cell, CellNumber(static_cast<int>(i / 3) + 1));
    EXPECT_EQ(member.seed, static_cast<int64_t>(i % 3) + 1);
    EXPECT_EQ(member.config.Int("seed.init"), member.seed);
    EXPECT_EQ(member.config.Int("model.vocab"), 256);
    EXPECT_EQ(member.config.Text("train.precision"), "fp32");
    EXPECT_EQ(member.identity, member.config.Identity(member.dataset_sha256));
    identities.push_back(member.identity);
  }
  std::sort(identities.begin(), identities.end());
  EXPECT_EQ(std::unique(identities.begin(), identities.end()), identities.end());
}

TEST(Expansion, TheQuickStartSweepHasTenRuns) {
  const auto text = ReadFile("deploy/sweeps/placements.yaml");
  ASSERT_THAT(text, IsOk());
  SweepSpec spec = Parse(*text);
  EXPECT_EQ(Expand(spec).Summary(), "6 combinations, 5 cells × 2 seeds = 10 runs");
  EXPECT_THAT(Labels(Expand(spec)), ElementsAre("post", "pre", "peri = sandwich", "deep", "geo"));
  // Decay means something to geo only.
  ASSERT_THAT(spec.ApplyOverride("norm.decay=harmonic,sqrt,linear"), IsOk());
  ASSERT_TRUE(spec.Check("").empty());
  EXPECT_EQ(Expand(spec).Summary(), "18 combinations, 7 cells × 2 seeds = 14 runs");
  EXPECT_THAT(Labels(Expand(spec)),
              ElementsAre("post", "pre", "peri = sandwich", "deep", "geo decay=harmonic",
                          "geo decay=sqrt", "geo decay=linear"));
}

TEST(Expansion, ZippedFactorsMoveTogether) {
  const SweepSpec spec = Parse(R"(
base: {data: {name: kjv}}
factors:
  model.layers: [2, 4, 8]
  norm.placement: [pre, peri]
  train.lr: [3e-3, 2e-3, 1e-3]
zip: [[model.layers, train.lr]]
)");
  const Expansion expansion = Expand(spec);
  EXPECT_EQ(expansion.Summary(), "6 combinations, 6 cells × 1 seed = 6 runs");
  EXPECT_THAT(Labels(expansion), ElementsAre("layers=2 pre lr=0.003", "layers=2 peri lr=0.003",
                                             "layers=4 pre lr=0.002", "layers=4 peri lr=0.002",
                                             "layers=8 pre lr=0.001", "layers=8 peri lr=0.001"));
}

TEST(Expansion, ACellLivesIfAnyOfItsCombinationsDoes) {
  const SweepSpec spec = Parse(R"(
base: {data: {name: kjv}}
factors: {norm.placement: [peri, sandwich, pre]}
exclude: [{norm.placement: peri}]
)");
  const Expansion expansion = Expand(spec);
  EXPECT_THAT(Labels(expansion), ElementsAre("sandwich", "pre"));
  EXPECT_EQ(expansion.excluded, 1);
}

TEST(Expansion, SphereIsGeoWithoutDecay) {
  const SweepSpec spec = Parse(R"(
base: {data: {name: kjv}}
factors: {norm.placement: [sphere, geo], norm.decay: [none, harmonic]}
)");
  EXPECT_THAT(Labels(Expand(spec)), ElementsAre("sphere = geo decay=none", "geo decay=harmonic"));
}

TEST(Expansion, PrecisionIsSettledByTheGpusAskedFor) {
  const SweepSpec spec = Parse(R"(
base: {data: {name: kjv}}
factors: {norm.placement: [pre]}
resources: {gpus: 1}
)");
  EXPECT_EQ(Expand(spec).members[0].config.Text("train.precision"), "bf16");
}

TEST(Expansion, SeedsMayBeSetApart) {
  const SweepSpec spec = Parse(R"(
base: {data: {name: kjv}, seed: {init: 5}}
factors: {norm.placement: [pre]}
replicates: {seed.data: [1, 2]}
)");
  const Expansion expansion = Expand(spec);
  ASSERT_EQ(expansion.members.size(), 2u);
  EXPECT_EQ(expansion.members[1].config.Int("seed.init"), 5);
  EXPECT_EQ(expansion.members[1].config.Int("seed.data"), 2);
  EXPECT_EQ(expansion.members[1].seed, 2);
}

TEST(Expansion, ShortNamesThatCollideAreWrittenOut) {
  const SweepSpec spec = Parse(R"(
base: {data: {name: kjv}, norm: {placement: prores}}
factors: {residual.warmup: [10, 20], train.warmup: [1]}
)");
  EXPECT_THAT(Labels(Expand(spec)), ElementsAre("residual.warmup=10", "residual.warmup=20"));
}

TEST(Expansion, NamesDataSetsThatAreNotThere) {
  const SweepSpec spec = Parse(R"(
base: {norm: {placement: geo}}
factors: {data.name: [kjv, arxiv]}
)");
  const Expansion expansion = Expand(spec, kCatalog);
  EXPECT_THAT(expansion.missing_datasets, ElementsAre("arxiv"));
  EXPECT_EQ(expansion.members[0].dataset_sha256, std::string(64, 'a'));
  EXPECT_EQ(expansion.members[1].dataset_sha256, "");
}

TEST(Expansion, IsTheSameThroughTheWire) {
  const SweepSpec spec = Parse(kExample);
  const std::string wire = DumpStrict(spec.ToJson());
  const auto document = ParseJson(wire);
  ASSERT_THAT(document, IsOk());
  const auto received = SweepSpec::FromJson(*document);
  ASSERT_THAT(received, IsOk());
  EXPECT_EQ(DumpStrict(received->ToJson()), wire);
  const Expansion here = Expand(spec, kCatalog);
  const Expansion there = Expand(*received, kCatalog);
  ASSERT_EQ(here.members.size(), there.members.size());
  for (size_t i = 0; i < here.members.size(); ++i) {
    EXPECT_EQ(here.members[i].canonical_json, there.members[i].canonical_json);
    EXPECT_EQ(here.members[i].cell, there.members[i].cell);
  }
  EXPECT_EQ(Labels(here), Labels(there));
}

}  // namespace
}  // namespace normlab
