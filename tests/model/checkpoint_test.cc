#include "model/checkpoint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "core/file.h"
#include "model/init.h"
#include "model/safetensors.h"
#include "tests/builders/status_matchers.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

TEST(Safetensors, ReadsBackBitForBit) {
  const TempDir dir;
  const at::Tensor odd = at::tensor({1.0, -0.0, std::nan(""), INFINITY, 5e-324}, at::kDouble);
  const std::vector<NamedTensor> written = {{"odd", odd},
                                            {"empty", at::zeros({0, 3}, at::kFloat)},
                                            {"scalar", at::tensor(7.0f, at::kFloat)},
                                            {"strided", at::arange(6, at::kFloat).view({2, 3}).t()},
                                            {"half", at::ones({3}, at::kBFloat16)}};
  const auto digest = WriteSafetensors(dir.File("x"), written);
  ASSERT_THAT(digest, IsOk());
  EXPECT_EQ(digest->bytes, static_cast<int64_t>(*FileSize(dir.File("x"))));
  const auto read = ReadSafetensors(dir.File("x"));
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), written.size());
  for (const NamedTensor& tensor : written) {
    const at::Tensor& back = read->at(tensor.name);
    EXPECT_EQ(back.sizes(), tensor.value.sizes());
    EXPECT_EQ(back.scalar_type(), tensor.value.scalar_type());
    EXPECT_TRUE(at::allclose(back.to(at::kDouble), tensor.value.to(at::kDouble), 0, 0,
                             /*equal_nan=*/true));
  }
}

// Whoever has the old file open or mapped, as PyTorch has, keeps reading the old one.
TEST(Safetensors, AReplacedFileStaysWholeForItsReaders) {
  const TempDir dir;
  ASSERT_THAT(WriteSafetensors(dir.File("x"), {{"a", at::ones({3}, at::kFloat)}}), IsOk());
  const std::string before = *ReadFile(dir.File("x"));
  std::ifstream reader(dir.File("x"), std::ios::binary);
  ASSERT_THAT(WriteSafetensors(dir.File("x"), {{"longer", at::zeros({50}, at::kFloat)}}), IsOk());
  const std::string seen{std::istreambuf_iterator<char>(reader), {}};
  EXPECT_EQ(seen, before);
  EXPECT_EQ(*ListDir(dir.path()), std::vector<std::string>{"x"});
}

TEST(Safetensors, RefusesWhatIsCutShort) {
  const TempDir dir;
  ASSERT_THAT(WriteSafetensors(dir.File("x"), {{"a", at::ones({100}, at::kFloat)}}), IsOk());
  const std::string whole = *ReadFile(dir.File("x"));
  for (const size_t size : {size_t{3}, size_t{20}, whole.size() - 1}) {
    ASSERT_THAT(WriteFileDurably(dir.File("x"), whole.substr(0, size)), IsOk());
    EXPECT_FALSE(ReadSafetensors(dir.File("x")).ok()) << size;
  }
}

struct Trained {
  Trained() : spec(TinySpec("pre", "fp32")), parameters(spec), optimizer({}, parameters) {
    InitialiseParameters(spec, parameters);
    parameters.grads().fill_(0.25);
    optimizer.Step(1, 0.01);
    state = {1, {3.5}, {0.5}};
  }
  ModelSpec spec;
  Parameters parameters;
  AdamW optimizer;
  TrainingState state;
};

const CheckpointOrigin kOrigin = {"0123456789abcdef", "{}", "avx2", 1};

TEST(Checkpoint, ComesBackWhole) {
  const TempDir dir;
  Trained one;
  ASSERT_THAT(WriteCheckpoint(dir.path(), kOrigin, one.state, one.parameters, one.optimizer),
              IsOk());
  Parameters parameters(one.spec);
  AdamW optimizer({}, parameters);
  const auto loaded = LoadCheckpoint(dir.File("1"), kOrigin, parameters, optimizer);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->state.step, 1);
  EXPECT_EQ(loaded->state.train_loss, one.state.train_loss);
  EXPECT_TRUE(at::equal(parameters.values(), one.parameters.values()));
  EXPECT_TRUE(at::equal(optimizer.m(), one.optimizer.m()));
  EXPECT_TRUE(at::equal(optimizer.v(), one.optimizer.v()));
}

TEST(Checkpoint, DamageIsFoundByItsChecksum) {
  const TempDir dir;
  Trained one;
  ASSERT_THAT(WriteCheckpoint(dir.path(), kOrigin, one.state, one.parameters, one.optimizer),
              IsOk());
  const std::string file = dir.File("1/optimizer.safetensors");
  std::string bytes = *ReadFile(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  ASSERT_THAT(WriteFileDurably(file, bytes), IsOk());
  EXPECT_THAT(LoadCheckpoint(dir.File("1"), kOrigin, one.parameters, one.optimizer),
              IsStatusWith(absl::StatusCode::kDataLoss, "optimizer.safetensors is damaged"));
}

TEST(Checkpoint, OfAnotherRunIsRefused) {
  const TempDir dir;
  Trained one;
  ASSERT_THAT(WriteCheckpoint(dir.path(), kOrigin, one.state, one.parameters, one.optimizer),
              IsOk());
  CheckpointOrigin other = kOrigin;
  other.identity = "fedcba9876543210";
  EXPECT_THAT(
      LoadCheckpoint(dir.File("1"), other, one.parameters, one.optimizer),
      IsStatusWith(absl::StatusCode::kFailedPrecondition, "belongs to run 0123456789abcdef"));
}

TEST(Checkpoint, OnlyTheNewestAreKept) {
  const TempDir dir;
  Trained one;
  for (const int64_t step : {1, 2, 10}) {
    one.state.step = step;
    one.state.train_loss.resize(step);
    one.state.grad_norm.resize(step);
    ASSERT_THAT(WriteCheckpoint(dir.path(), kOrigin, one.state, one.parameters, one.optimizer),
                IsOk());
  }
  ASSERT_THAT(MakeDirs(dir.File("11.tmp")), IsOk());  // a writer that died
  EXPECT_EQ(ListCheckpoints(dir.path()).front(), dir.File("10"));
  ASSERT_THAT(PruneCheckpoints(dir.path(), 2), IsOk());
  EXPECT_EQ(*ListDir(dir.path()), (std::vector<std::string>{"10", "2"}));
}

TEST(Checkpoint, WeightsOfAnotherShapeAreRefused) {
  const TempDir dir;
  const Trained one;
  ASSERT_THAT(WriteSafetensors(dir.File("w"), {{"embed.token", at::zeros({3, 3})}}), IsOk());
  Parameters parameters(one.spec);
  EXPECT_THAT(LoadParameters(dir.File("w"), parameters),
              IsStatusWith(absl::StatusCode::kInvalidArgument, "embed.token has the shape [3, 3]"));
}

}  // namespace
}  // namespace normlab::model
