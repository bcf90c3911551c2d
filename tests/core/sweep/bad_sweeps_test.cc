#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/sweep/sweep_spec.h"
#include "tests/builders/temp_dir.h"

// Bad sweep files, each with every line that a person gets to read about it.

namespace normlab {
namespace {

struct BadSweep {
  const char* name;
  const char* text;
  std::vector<std::string> errors;
};

void PrintTo(const BadSweep& sweep, std::ostream* out) { *out << sweep.text; }

class BadSweepTest : public testing::TestWithParam<BadSweep> {};

TEST_P(BadSweepTest, GivesExactlyTheseErrors) {
  std::vector<SpecError> errors;
  const auto spec = SweepSpec::ParseYaml(GetParam().text, "f.yaml", errors);
  EXPECT_FALSE(spec.has_value());
  std::vector<std::string> lines;
  for (const SpecError& error : errors) lines.push_back(error.ToString());
  EXPECT_THAT(lines, testing::ElementsAreArray(GetParam().errors));
}

const BadSweep kDocument[] = {
    {"Empty", R"()", {R"(f.yaml:1:1: the file is empty; a sweep needs at least base and factors)"}},
    {"OnlyAComment",
     R"(# nothing
)",
     {R"(f.yaml:1:1: the file is empty; a sweep needs at least base and factors)"}},
    {"NotAMap",
     R"(- a
- b
)",
     {R"(f.yaml: no data set is named; base should say which, such as data: {name: kjv})",
      R"(f.yaml:1:1: found a list; a sweep file is a map with name, base, factors …)"}},
    {"AScalar",
     R"(hello
)",
     {R"(f.yaml: no data set is named; base should say which, such as data: {name: kjv})",
      R"(f.yaml:1:1: found 'hello'; a sweep file is a map with name, base, factors …)"}},
    {"SyntaxError",
     R"(name: a
base: {model: [}
)",
     {R"(f.yaml:2:16: not valid YAML: illegal flow end)"}},
    {"TabIndent",
     R"(name: a
base:
	data: {name: kjv}
)",
     {R"(f.yaml:3:6: not valid YAML: illegal map value (this line is indented with a tab; YAML wants spaces))"}},
    {"TwoDocuments",
     R"(name: a
base: {data: {name: kjv}}
---
name: b
)",
     {R"(f.yaml:4:1: found a second document; one file is one sweep)"}},
    {"UnknownPart",
     R"(nmae: a
base: {data: {name: kjv}}
)",
     {R"(f.yaml:1:1: 'nmae' is no part of a sweep file; did you mean 'name'?)"}},
    {"UnknownPartNothingNear",
     R"(zzz: 1
base: {data: {name: kjv}}
)",
     {R"(f.yaml:1:1: 'zzz' is no part of a sweep file: base, baseline, budget, exclude, factors, name, primary, replicates, resources, stop, zip)"}},
    {"KnobAtTheTop",
     R"(placment: gheo
base: {data: {name: kjv}}
)",
     {R"(f.yaml:1:1: 'placment' is no part of a sweep file; the knob 'norm.placement' belongs under base or factors)"}},
    {"DuplicateKey",
     R"(base: {data: {name: kjv}}
name: a
name: b
)",
     {R"(f.yaml:3:1: 'name' is given twice; the first time in line 2)"}},
    {"BadName",
     R"(name: s3
base: {data: {name: kjv}}
)",
     {R"(f.yaml:1:7: found 's3' as a name; should be letters, digits, '-', '_' or '.', and not look like an id)"}},
};

INSTANTIATE_TEST_SUITE_P(Document, BadSweepTest, testing::ValuesIn(kDocument),
                         [](const auto& info) { return std::string(info.param.name); });

const BadSweep kBase[] = {
    {"UnknownKnob",
     R"(base:
  data: {name: kjv}
  norm: {placment: geo}
)",
     {R"(f.yaml:3:10: 'norm.placment' is no knob; did you mean 'norm.placement'?)"}},
    {"UnknownKnobWrongGroup",
     R"(base: {data: {name: kjv}, model: {lr: 1e-3}}
)",
     {R"(f.yaml:1:35: 'model.lr' is no knob; did you mean 'train.lr'?)"}},
    {"UnknownKnobNothingNear",
     R"(base: {data: {name: kjv}, norm: {colour: red}}
)",
     {R"(f.yaml:1:34: 'norm.colour' is no knob; `normlab config` lists them)"}},
    {"UnknownChoice",
     R"(base: {data: {name: kjv}}
factors:
  norm.placement: [pre, gheo]
)",
     {R"(f.yaml:3:25: norm.placement: 'gheo' is none of its values; did you mean 'geo'?)"}},
    {"UnknownChoiceNothingNear",
     R"(base: {data: {name: kjv}, norm: {kind: batchnormalisation}}
)",
     {R"(f.yaml:1:40: norm.kind: 'batchnormalisation' is none of its values: layernorm, rmsnorm)"}},
    {"WrongType",
     R"(base: {data: {name: kjv}, train: {steps: many}}
)",
     {R"(f.yaml:1:42: train.steps: found 'many'; should be a whole number from 1 to 1000000000)"}},
    {"NotWhole",
     R"(base: {data: {name: kjv}, model: {layers: 2.5}}
)",
     {R"(f.yaml:1:43: model.layers: found 2.5; should be a whole number from 1 to 1024)"}},
    {"OutOfRange",
     R"(base: {data: {name: kjv}, model: {layers: 0}, train: {beta1: 1}}
)",
     {R"(f.yaml:1:43: model.layers: found 0; should be a whole number from 1 to 1024)",
      R"(f.yaml:1:62: train.beta1: found 1; should be a number from 0 to below 1)"}},
    {"WrongTypeList",
     R"(base: {data: {name: kjv}, train: {lr: [1e-3, 1e-4]}}
)",
     {R"(f.yaml:1:39: train.lr: found a list; should be a number from 0 to 1000)"}},
    {"BoolWanted",
     R"(base: {data: {name: kjv}, model: {tied_head: 2}}
)",
     {R"(f.yaml:1:46: model.tied_head: found '2'; should be true or false)"}},
    {"GivenTwice",
     R"(base: {data: {name: kjv}, norm.kind: rmsnorm, norm: {kind: layernorm}}
)",
     {R"(f.yaml:1:54: 'norm.kind' is given twice)"}},
    {"NoDataSet",
     R"(name: a
base: {model: {layers: 2}}
factors: {norm.placement: [pre]}
)",
     {R"(f.yaml:2:1: no data set is named; base should say which, such as data: {name: kjv})"}},
    {"NoBase",
     R"(factors: {norm.placement: [pre]}
)",
     {R"(f.yaml:1:1: no data set is named; base should say which, such as data: {name: kjv})"}},
};

INSTANTIATE_TEST_SUITE_P(Base, BadSweepTest, testing::ValuesIn(kBase),
                         [](const auto& info) { return std::string(info.param.name); });

const BadSweep kFactors[] = {
    {"EmptyLevels",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: []}
)",
     {R"(f.yaml:2:27: norm.placement: found an empty list; should have a level at least)"}},
    {"NullLevels",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: }
)",
     {R"(f.yaml:2:27: norm.placement: found nothing; should be a list, {log: [lo, hi], n: N}, {linear: [lo, hi], n: N} or {range: [lo, hi, step]})"}},
    {"LevelTwice",
     R"(base: {data: {name: kjv}}
factors: {train.lr: [1e-3, 0.001]}
)",
     {R"(f.yaml:2:28: train.lr: 0.001 is there twice)"}},
    {"LogWithoutN",
     R"(base: {data: {name: kjv}}
factors: {residual.dt: {log: [0.1, 1]}}
)",
     {R"(f.yaml:2:24: residual.dt: log needs n, the number of levels)"}},
    {"LogFromZero",
     R"(base: {data: {name: kjv}}
factors: {residual.dt: {log: [0, 1], n: 3}}
)",
     {R"(f.yaml:2:24: residual.dt: log starts at 0; should be above 0)"}},
    {"LogBackwards",
     R"(base: {data: {name: kjv}}
factors: {residual.dt: {log: [1, 0.1], n: 3}}
)",
     {R"(f.yaml:2:24: residual.dt: log goes from 1 to 0.1; the second should be larger)"}},
    {"LogOneNumber",
     R"(base: {data: {name: kjv}}
factors: {residual.dt: {log: [0.1], n: 3}}
)",
     {R"(f.yaml:2:30: residual.dt: log takes [lo, hi], numbers all)"}},
    {"BadN",
     R"(base: {data: {name: kjv}}
factors: {residual.dt: {linear: [0.1, 1], n: one}}
)",
     {R"(f.yaml:2:46: residual.dt: found 'one' for n; should be a whole number from 2 to 10000)"}},
    {"RangeNoStep",
     R"(base: {data: {name: kjv}}
factors: {model.layers: {range: [2, 8]}}
)",
     {R"(f.yaml:2:33: model.layers: range takes [lo, hi, step], numbers all)"}},
    {"RangeBadStep",
     R"(base: {data: {name: kjv}}
factors: {model.layers: {range: [2, 8, -1]}}
)",
     {R"(f.yaml:2:25: model.layers: the step of range should be above 0)"}},
    {"RangeWithN",
     R"(base: {data: {name: kjv}}
factors: {model.layers: {range: [2, 8, 2], n: 3}}
)",
     {R"(f.yaml:2:25: model.layers: range has no n; its third number is the step)"}},
    {"RangeTooMany",
     R"(base: {data: {name: kjv}}
factors: {train.lr: {range: [0, 1, 1e-9]}}
)",
     {R"(f.yaml:2:21: train.lr: range makes more than 10000 levels)"}},
    {"LogUnknownWord",
     R"(base: {data: {name: kjv}}
factors: {residual.dt: {logarithmic: [0.1, 1], n: 2}}
)",
     {R"(f.yaml:2:25: residual.dt: found 'logarithmic'; should be a list, {log: [lo, hi], n: N}, {linear: [lo, hi], n: N} or {range: [lo, hi, step]})"}},
    {"LogOfWords",
     R"(base: {data: {name: kjv}}
factors: {norm.kind: {log: [1, 2], n: 2}}
)",
     {R"(f.yaml:2:22: norm.kind: found a map; should be a list of one of layernorm, rmsnorm)"}},
    {"LogRoundsTogether",
     R"(base: {data: {name: kjv}}
factors: {model.layers: {log: [1, 3], n: 5}}
)",
     {R"(f.yaml:2:25: model.layers: 1 is there twice)",
      R"(f.yaml:2:25: model.layers: 2 is there twice)"}},
    {"LinearOutOfRange",
     R"(base: {data: {name: kjv}}
factors: {train.beta1: {linear: [0.5, 1.5], n: 3}}
)",
     {R"(f.yaml:2:33: train.beta1: found 1; should be a number from 0 to below 1)"}},
    {"FactorIsSeed",
     R"(base: {data: {name: kjv}}
factors: {seed: [1, 2]}
)",
     {R"(f.yaml:2:11: 'seed' is no factor; seeds are replicates: {seed: [1, 2, 3]})"}},
    {"FactorIsObservation",
     R"(base: {data: {name: kjv}}
factors: {eval.every: [10, 20]}
)",
     {R"(f.yaml:2:11: 'eval.every' does not change a run's result (it affects observation), so it is no factor; set it in base)"}},
    {"FactorTwice",
     R"(base: {data: {name: kjv}}
factors: {norm.kind: [rmsnorm], norm: {kind: [layernorm]}}
)",
     {R"(f.yaml:2:40: 'norm.kind' is given twice)"}},
};

INSTANTIATE_TEST_SUITE_P(Factors, BadSweepTest, testing::ValuesIn(kFactors),
                         [](const auto& info) { return std::string(info.param.name); });

const BadSweep kParts[] = {
    {"ZipUnequal",
     R"(base: {data: {name: kjv}}
factors: {model.layers: [2, 4, 8], train.lr: [1e-3, 2e-3]}
zip: [[model.layers, train.lr]]
)",
     {R"(f.yaml:3:1: zip: model.layers has 3 levels and train.lr has 2; they move together, so should have as many)"}},
    {"ZipNoFactor",
     R"(base: {data: {name: kjv}}
factors: {model.layers: [2, 4]}
zip: [[model.layers, train.lr]]
)",
     {R"(f.yaml:3:1: zip: 'train.lr' is no factor; the factors are model.layers)"}},
    {"ZipTwice",
     R"(base: {data: {name: kjv}}
factors: {model.layers: [2, 4], train.lr: [1e-3, 2e-3]}
zip: [[model.layers, train.lr], [train.lr, model.layers]]
)",
     {R"(f.yaml:3:1: zip: 'train.lr' is there twice)",
      R"(f.yaml:3:1: zip: 'model.layers' is there twice)"}},
    {"ZipOfOne",
     R"(base: {data: {name: kjv}}
factors: {model.layers: [2, 4]}
zip: [[model.layers]]
)",
     {R"(f.yaml:3:7: found a list; a zip is a list of two factors or more that move together)"}},
    {"ZipNotAList",
     R"(base: {data: {name: kjv}}
factors: {model.layers: [2, 4]}
zip: model.layers
)",
     {R"(f.yaml:3:6: found 'model.layers'; zip should be a list)"}},
    {"ExcludeNoFactor",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: [pre, geo]}
exclude: [{residual.dt: 1}]
)",
     {R"(f.yaml:3:11: exclude: 'residual.dt' is no factor; the factors are norm.placement)"}},
    {"ExcludeBadValue",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: [pre, geo]}
exclude: [{norm.placement: prе}]
)",
     {R"(f.yaml:3:28: norm.placement: 'prе' is none of its values: post, pre, peri, sandwich, deep, geo, lns, mix, res-post, scaled, inv-l, inv-sqrt-l, rezero, layerscale, keel, orthogonal, sphere, prores, geo-affine)"}},
    {"ExcludeEverything",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: [pre]}
exclude:
  - {norm.placement: pre}
)",
     {R"(f.yaml:3:1: exclude leaves nothing: every combination is excluded)"}},
    {"BaselineNoLevel",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: [post, geo]}
baseline: {norm.placement: pre}
)",
     {R"(f.yaml:3:11: baseline: no cell has norm.placement = pre; its levels are post, geo)"}},
    {"BaselineNoFactor",
     R"(base: {data: {name: kjv}}
baseline: {norm.placement: pre}
)",
     {R"(f.yaml:2:11: baseline: 'norm.placement' is no factor; this sweep has none)"}},
    {"BaselineExcluded",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: [post, geo]}
exclude: [{norm.placement: geo}]
baseline: {norm.placement: geo}
)",
     {R"(f.yaml:4:11: baseline: every combination that matches it is excluded)"}},
    {"DuplicateSeeds",
     R"(base: {data: {name: kjv}}
replicates: {seed: [1, 2, 1]}
)",
     {R"(f.yaml:2:27: seed: 1 is there twice)"}},
    {"SeedNumber",
     R"(base: {data: {name: kjv}}
replicates: {seed: 3}
)",
     {R"(f.yaml:2:20: seed: found '3'; should be a list of seeds, such as [1, 2, 3])"}},
    {"SeedWord",
     R"(base: {data: {name: kjv}}
replicates: {seed: [one]}
)",
     {R"(f.yaml:2:21: seed: found 'one'; should be a whole number from 0 to 9007199254740992)"}},
    {"NegativeSeed",
     R"(base: {data: {name: kjv}}
replicates: {seed: [-1]}
)",
     {R"(f.yaml:2:21: seed: found -1; should be a whole number from 0 to 9007199254740992)"}},
    {"ReplicatesOfOther",
     R"(base: {data: {name: kjv}}
replicates: {train.lr: [1e-3]}
)",
     {R"(f.yaml:2:14: found 'train.lr'; replicates are over seed, seed.init or seed.data)"}},
    {"SeedTwice",
     R"(base: {data: {name: kjv}, seed: 4}
replicates: {seed: [1]}
)",
     {R"(f.yaml:1:27: 'seed' is given in base and in replicates; one is enough)"}},
};

INSTANTIATE_TEST_SUITE_P(Parts, BadSweepTest, testing::ValuesIn(kParts),
                         [](const auto& info) { return std::string(info.param.name); });

const BadSweep kValues[] = {
    {"HeadsDoNotDivide",
     R"(base: {data: {name: kjv}, model: {width: 130}}
factors: {norm.placement: [pre, geo]}
)",
     {R"(f.yaml:1:35: model.heads: 4 heads do not divide a width of 130 (with norm.placement = pre))"}},
    {"OddHeadWidthWithRotary",
     R"(base: {data: {name: kjv}, model: {positions: rotary, heads: 4}}
factors: {model.width: [64, 12]}
)",
     {R"(f.yaml:1:35: model.positions: rotary positions need an even head width, not 12/4 = 3 (with model.width = 12))"}},
    {"WarmupTooLong",
     R"(base: {data: {name: kjv}, train: {steps: 10, warmup: 20}}
)",
     {R"(f.yaml:1:46: train.warmup: 20 steps of warm-up are more than the 10 steps of train.steps)"}},
    {"MicroBatchTooLarge",
     R"(base: {data: {name: kjv}, train: {batch: 4, micro_batch: 8}}
)",
     {R"(f.yaml:1:45: train.micro_batch: 8 sequences at once are more than the 4 of train.batch)"}},
    {"BadStop",
     R"(base: {data: {name: kjv}}
stop: {nonfinite: perhaps, spikes: 3, after_step: -1}
)",
     {R"(f.yaml:2:19: stop.nonfinite: found 'perhaps'; should be true or false)",
      R"(f.yaml:2:28: 'spikes' is no part of stop: after_step, nonfinite, spikes_per_1k)",
      R"(f.yaml:2:51: stop.after_step: found '-1'; should be a whole number from 0)"}},
    {"BadBudget",
     R"(base: {data: {name: kjv}}
budget: {time: 30 minutes, failures: -1, stall: 10x}
)",
     {R"(f.yaml:2:16: budget.time: found '30 minutes'; should be a duration such as 30m, 1h30m, 45s, or unlimited)",
      R"(f.yaml:2:38: budget.failures: found '-1'; should be a whole number from 0)",
      R"(f.yaml:2:49: budget.stall: found '10x'; should be a duration such as 30m, 1h30m, 45s, or unlimited)"}},
    {"BadResources",
     R"(base: {data: {name: kjv}}
resources: {gpus: some, cpus: 0, memory: 2 gigs}
)",
     {R"(f.yaml:2:19: resources.gpus: found 'some'; should be a whole number from 0)",
      R"(f.yaml:2:31: resources.cpus: found '0'; should be a whole number from 1)",
      R"(f.yaml:2:42: resources.memory: found '2 gigs'; should be a size such as 2GiB or 512MiB)"}},
    {"BadPrimary",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: [pre]}
primary: {metric: accuracy, contrast: norm.placement, alpha: 2}
)",
     {R"(f.yaml:3:19: primary.metric: found 'accuracy'; should be one of val_loss, best_val_loss, train_loss, ppl_of_mean, mean_seq_ppl)",
      R"(f.yaml:3:62: primary.alpha: found '2'; should be a number from 0 to 1)"}},
    {"PrimaryNoFactor",
     R"(base: {data: {name: kjv}}
factors: {norm.placement: [pre]}
primary: {contrast: train.lr}
)",
     {R"(f.yaml:3:21: primary: 'train.lr' is no factor; the factors are norm.placement)"}},
    {"TooManyRuns",
     R"(base: {data: {name: kjv}}
factors:
  train.lr: {linear: [1e-4, 1e-2], n: 1000}
  residual.dt: {linear: [0.1, 1], n: 1000}
)",
     {R"(f.yaml:2:1: the factors and seeds cross to 1000000 runs; at most 100000 are allowed)"}},
    {"AllAtOnce",
     R"(nmae: a
base:
  data: {name: kjv}
  model: {layers: 0, witdh: 64}
factors:
  norm.placement: [pre, gheo]
stop: {nonfinte: true}
)",
     {R"(f.yaml:1:1: 'nmae' is no part of a sweep file; did you mean 'name'?)",
      R"(f.yaml:4:19: model.layers: found 0; should be a whole number from 1 to 1024)",
      R"(f.yaml:4:22: 'model.witdh' is no knob; did you mean 'model.width'?)",
      R"(f.yaml:6:25: norm.placement: 'gheo' is none of its values; did you mean 'geo'?)",
      R"(f.yaml:7:8: 'nonfinte' is no part of stop; did you mean 'nonfinite'?)"}},
};

INSTANTIATE_TEST_SUITE_P(Values, BadSweepTest, testing::ValuesIn(kValues),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SweepFile, ThatCannotBeReadIsOneError) {
  const TempDir dir;
  const std::string path = dir.File("none.yaml");
  std::vector<SpecError> errors;
  EXPECT_FALSE(SweepSpec::ParseFile(path, errors).has_value());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].ToString(), path + ": No such file or directory");
  EXPECT_FALSE(SweepSpec::ParseFile(dir.path(), errors).has_value());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].ToString(), dir.path() + ": Is a directory");
}

}  // namespace
}  // namespace normlab
