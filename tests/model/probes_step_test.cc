// What is measured of a step, against other ways to the same numbers: the gradient of a stream that
// starts in the middle of the model, and the difference of the weights before and after.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "model/probes/step_probe.h"
#include "tests/model/probed_model.h"

namespace normlab::model {
namespace {

constexpr double kLr = 0.01;
constexpr double kFactor = 4;  // of the initial weights

double SumOfSquares(const at::Tensor& x) {
  const at::Tensor flat = x.detach().to(at::kDouble).contiguous();
  double sum = 0;
  for (int64_t i = 0; i < flat.numel(); ++i) sum += std::pow(flat.const_data_ptr<double>()[i], 2);
  return sum;
}

// One training step of three sequences, in shards of 2 + 1, with a probe.
struct ProbedStep {
  ProbedStep(const std::string& placement, const Overrides& overrides)
      : run(placement, overrides, kFactor),
        optimizer(Options(), run.parameters),
        probe(run.spec, run.parameters, /*shards=*/2) {
    const double tokens = static_cast<double>(run.tokens.numel());
    run.parameters.grads().zero_();
    int64_t shard = 0;
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 2}, {2, 1}}) {
      ForwardOptions options;
      options.on_stream = [this, shard](size_t s, const at::Tensor& x) {
        probe.WatchStream(shard, s, x);
      };
      ++shard;
      const at::Tensor logits = run.model.Forward(run.tokens.narrow(0, first, count), options);
      (CrossEntropySum(logits, run.targets.narrow(0, first, count)) / tokens).backward();
    }
    grads = run.parameters.grads().clone();
    before = run.parameters.values().clone();
    probe.MeasureGradients();
    ClipGradients(run.parameters, GradNorm(run.parameters), 0.01);
    optimizer.Step(1, kLr);
    probe.MeasureUpdate(optimizer, 1, kLr);
    profiles = probe.Profiles(1);
  }
  static AdamWOptions Options() { return {0.9, 0.95, /*eps=*/1e-6, /*weight_decay=*/0.3}; }

  const Parameter& Matrix(const std::string& type, int64_t block) const {
    return *run.parameters.FindParameter("blocks." + std::to_string(block) + "." + type +
                                         ".weight");
  }

  Forwarded run;
  AdamW optimizer;
  StepProbe probe;
  at::Tensor grads, before;
  std::vector<ProfileRecord> profiles;
};

constexpr const char* kTypes[] = {"attn.qkv", "attn.out", "ffn.up", "ffn.down"};

struct Case {
  std::string placement;
  Overrides overrides;
};

// One test for all cases: a program that links LibTorch takes a second to start.
void ForEveryCase(const std::function<void(const Case&, const ProbedStep&)>& check) {
  for (const char* placement : {"pre", "post", "peri", "geo", "deep", "keel", "layerscale"}) {
    for (const Overrides& overrides : {Overrides(), AwkwardShape()}) {
      SCOPED_TRACE(placement + std::string(overrides.empty() ? "" : ", awkward shape"));
      check({placement, overrides}, ProbedStep(placement, overrides));
    }
  }
}

// From the stored X_2i on, the rest of the model alone, on the whole batch at once.
TEST(StepProfiles, StreamGradIsTheGradientOfTheRestOfTheModel) {
  ForEveryCase([](const Case& given, const ProbedStep& step) {
    const Forwarded run(given.placement, given.overrides, kFactor);
    const auto& measured = Find(step.profiles, "stream_grad");
    ASSERT_EQ(measured.size(), static_cast<size_t>(run.spec.layers) + 1);
    for (int64_t block = 0; block <= run.spec.layers; ++block) {
      const at::Tensor start = run.tape.hidden[2 * block].detach().clone().set_requires_grad(true);
      at::Tensor x = start;
      for (int64_t s = 2 * block; s < 2 * run.spec.layers; ++s) x = run.model.Sublayer(s, x, {});
      (CrossEntropySum(run.model.Head(x), run.targets) / static_cast<double>(run.tokens.numel()))
          .backward();
      const double expected = std::sqrt(SumOfSquares(start.grad()));
      EXPECT_GT(expected, 0);
      EXPECT_NEAR(measured[block], expected, 1e-11 * expected) << "block " << block;
    }
  });
}

TEST(StepProfiles, GradientsAreThoseBeforeClipping) {
  ForEveryCase([](const Case&, const ProbedStep& step) {
    for (const char* type : kTypes) {
      const auto& measured = Find(step.profiles, std::string("param_grad_rms.") + type);
      ASSERT_EQ(measured.size(), static_cast<size_t>(step.run.spec.layers));
      for (int64_t block = 0; block < step.run.spec.layers; ++block) {
        const at::Tensor grad = step.run.parameters.ViewOf(step.grads, step.Matrix(type, block));
        const double expected = std::sqrt(SumOfSquares(grad) / static_cast<double>(grad.numel()));
        EXPECT_GT(expected, 0);
        EXPECT_NEAR(measured[block], expected, 1e-13 * expected) << type;
      }
    }
  });
}

// W' = (1 − lr·wd)·W − lr·û, solved for û.
TEST(StepProfiles, UpdateIsTheChangeOfTheWeightsWithoutTheirDecay) {
  ForEveryCase([](const Case&, const ProbedStep& step) {
    const double kept = 1.0 - kLr * ProbedStep::Options().weight_decay;
    for (const char* type : kTypes) {
      for (int64_t block = 0; block < step.run.spec.layers; ++block) {
        const Parameter& matrix = step.Matrix(type, block);
        const at::Tensor old = step.run.parameters.ViewOf(step.before, matrix);
        const double moved = std::sqrt(SumOfSquares(matrix.value.detach() - old * kept));
        const double count = static_cast<double>(old.numel());
        const auto value = [&](const char* key) {
          return Find(step.profiles, key + std::string(type))[block];
        };
        EXPECT_GT(moved, 0);
        EXPECT_NEAR(value("param_update.") / (moved / std::sqrt(SumOfSquares(matrix.value))), 1,
                    1e-10);
        EXPECT_NEAR(value("adam_rms.") / (moved / kLr / std::sqrt(count)), 1, 1e-10);
      }
    }
  });
}

TEST(StepProfiles, ShareBelowEpsCountsEntries) {
  ForEveryCase([](const Case&, const ProbedStep& step) {
    double seen = 0;
    for (const char* type : kTypes) {
      for (int64_t block = 0; block < step.run.spec.layers; ++block) {
        const at::Tensor v =
            step.run.parameters.ViewOf(step.optimizer.v(), step.Matrix(type, block)).contiguous();
        int64_t below = 0;
        for (int64_t i = 0; i < v.numel(); ++i) {
          below += std::sqrt(v.const_data_ptr<double>()[i] / (1 - 0.95)) < 1e-6 ? 1 : 0;
        }
        const double share = static_cast<double>(below) / static_cast<double>(v.numel());
        EXPECT_NEAR(Find(step.profiles, std::string("adam_below_eps.") + type)[block], share,
                    1e-15);
        seen += share;
      }
    }
    EXPECT_GT(seen, 0);  // clipped to 0.01, some gradients are that small
  });
}

// In fp32, against the same formulas in fp64 on the stored moments and weights.
TEST(StepProfilesInSingle, LoseNoMoreThanTheirEntries) {
  Overrides overrides = AwkwardShape();
  overrides.push_back({"train.precision", "fp32"});
  const ProbedStep step("pre", overrides);
  const AdamWOptions options = ProbedStep::Options();
  for (const char* type : kTypes) {
    const Parameter& matrix = step.Matrix(type, 0);
    const auto moment = [&](const at::Tensor& flat) {
      return step.run.parameters.ViewOf(flat, matrix).to(at::kDouble);
    };
    const at::Tensor root = (moment(step.optimizer.v()) / (1 - options.beta2)).sqrt();
    const at::Tensor update =
        moment(step.optimizer.m()) / (1 - options.beta1) / (root + options.eps);
    const double rms = std::sqrt(SumOfSquares(update) / static_cast<double>(update.numel()));
    const double relative =
        kLr * std::sqrt(SumOfSquares(update) / SumOfSquares(matrix.value.to(at::kDouble)));
    const auto value = [&](const char* key) {
      return Find(step.profiles, key + std::string(type))[0];
    };
    EXPECT_NEAR(value("adam_rms.") / rms, 1, 1e-6) << type;
    EXPECT_NEAR(value("param_update.") / relative, 1, 1e-6) << type;
    const double grad =
        std::sqrt(SumOfSquares(moment(step.grads)) / static_cast<double>(update.numel()));
    EXPECT_NEAR(value("param_grad_rms.") / grad, 1, 1e-12) << type;
  }
}

}  // namespace
}  // namespace normlab::model
