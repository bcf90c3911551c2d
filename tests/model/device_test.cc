// Whole models and runs on a device (NORMLAB_TEST_DEVICE): one program for the CPU, and in builds
// with CUDA the same as a second one for the GPU.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "model/init.h"
#include "model/transformer.h"
#include "tests/builders/status_matchers.h"
#include "tests/fakes/fake_clock.h"
#include "tests/model/every_placement.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

// As train.deterministic asks of LibTorch.
struct Deterministic : testing::Environment {
  void SetUp() override {
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  }
};
const auto* const kDeterministic = testing::AddGlobalTestEnvironment(new Deterministic);

// At a rate at which training does not hang on roundings. `width`: one that CUDA has kernels of its
// own for, or one that it has not.
RunConfig Config(const std::string& placement, const char* precision, const char* width) {
  RunConfig config = TinyConfig(placement);
  for (const auto& [key, text] : {std::pair{"model.width", width},
                                  {"model.heads", "4"},
                                  {"model.bias", "true"},
                                  {"train.lr", "0.003"},
                                  {"train.precision", precision},
                                  {"train.deterministic", "true"}}) {
    CHECK_OK(config.Parse(key, text));
  }
  return config;
}

struct Results {
  at::Tensor logits, grads;
};

Results Step(const ModelSpec& spec, const std::string& device) {
  Parameters parameters(spec, at::Device(device));
  InitialiseParameters(spec, parameters);
  const Transformer transformer(spec, parameters);
  const at::Tensor tokens =
      at::remainder(at::arange(2 * spec.seq_len, at::kLong).square(), spec.vocab)
          .reshape({2, spec.seq_len});
  const at::Tensor logits = transformer.Forward(tokens, {});
  CrossEntropySum(logits, tokens).backward();
  return {logits.detach().to(at::kCPU, at::kDouble), parameters.grads().to(at::kCPU, at::kDouble)};
}

double Difference(const at::Tensor& got, const at::Tensor& want) {
  return ((got - want).abs().max() / want.abs().max()).item<double>();
}

class OnDevice : public testing::TestWithParam<std::string> {};

// The kernels there in fp32, and tensor operations on the CPU in fp64.
TEST_P(OnDevice, OneStepAgreesWithTheReference) {
  for (const char* width : {"128", "100"}) {
    ModelSpec reference = MakeModelSpec(Config(GetParam(), "fp64", width), 29);
    reference.composed_norms = true;
    const Results want = Step(reference, "cpu");
    const Results got =
        Step(MakeModelSpec(Config(GetParam(), "fp32", width), 29), NORMLAB_TEST_DEVICE);
    EXPECT_LE(Difference(got.logits, want.logits), 1e-4) << width;
    EXPECT_LE(Difference(got.grads, want.grads), 1e-3) << width;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnDevice, EachPlacement(), PlacementTestName);

struct RunOnDevice : testing::Test {
  RunOnDevice() { setup.data_dir = TinyDataset(dir); }
  // The weights at the end; records are in `sink`.
  at::Tensor Train(const RunConfig& config, const std::string& device) {
    sink.records.clear();
    setup.config = config;
    setup.device = device;
    setup.checkpoint_dir = dir.File("checkpoints" + std::to_string(++runs));
    auto loop = TrainLoop::Create(setup, sink, clock);
    CHECK_OK(loop.status());
    CHECK_OK((*loop)->Run([] { return false; }).status());
    return (*loop)->parameters().values().to(at::kCPU);
  }
  std::vector<double> Losses() const {
    std::vector<double> losses;
    for (const ScalarsRecord& record : sink.All<ScalarsRecord>()) {
      losses.push_back(record.values[0].second);
    }
    return losses;
  }

  TempDir dir;
  FakeClock clock;
  TrainSetup setup;
  RecordingSink sink;
  int runs = 0;
};

TEST_F(RunOnDevice, LossesAreThoseOfTheCpu) {
  const RunConfig config = Config("geo", "fp32", "128");
  Train(config, "cpu");
  const std::vector<double> want = Losses();
  Train(config, NORMLAB_TEST_DEVICE);
  const std::vector<double> got = Losses();
  ASSERT_EQ(got.size(), want.size());
  // Roundings grow from step to step.
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], (i < 5 ? 1e-3 : 1e-2) * want[i]) << i;
  }
  EXPECT_LT(got.back(), 0.2 * got.front());  // 0.10 to 0.12 over ten seeds
}

// What is observed is no part of a run's identity: probes take the residual update and the next
// norm apart, on steps of their own.
TEST_F(RunOnDevice, ProbesChangeNoBit) {
  for (const char* placement : {"pre", "peri", "deep", "geo"}) {
    for (const char* precision : {"fp32", "bf16"}) {
      RunConfig config = Config(placement, precision, "128");
      CHECK_OK(config.Parse("train.steps", "9"));
      CHECK_OK(config.Parse("probe.every", "0"));
      const at::Tensor without = Train(config, NORMLAB_TEST_DEVICE);
      CHECK_OK(config.Parse("probe.every", "2"));
      const at::Tensor with = Train(config, NORMLAB_TEST_DEVICE);
      EXPECT_FALSE(sink.All<ProfileRecord>().empty());
      EXPECT_TRUE(at::equal(with, without)) << placement << " " << precision;
    }
  }
}

}  // namespace
}  // namespace normlab::model
