// Rows more than 2^31 elements, and 2^32 bytes, behind the first: bit for bit as the same rows
// alone.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tests/kernels/far_matrix.h"
#include "tests/kernels/geonorm_run.h"
#include "tests/kernels/norm_run.h"
#include "tests/kernels/residual_run.h"

namespace normlab::kernels {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kFarWidths[] = {2048, 2056};  // on CUDA: of a preset, and any

class FarRowsTest : public testing::TestWithParam<std::string> {
 protected:
  FarRowsTest() : backend_(MakeBackend(GetParam())) {}
  void SetUp() override {
    const std::string obstacle = FarMatrix::Obstacle(5);
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
  }
  std::unique_ptr<Backend> backend_;
};

HostMatrix Nothing(std::int64_t cols) { return {NORMLAB_BF16, kRows, cols}; }

std::vector<float> Saved(const FarMatrix& x, std::int64_t numbers) {
  return std::vector<float>(static_cast<std::size_t>(x.View().rows * numbers));
}

TEST_P(FarRowsTest, GeoNorm) {
  for (const std::int64_t cols : kFarWidths) {
    SCOPED_TRACE(cols);
    const GeoNormInputs in = MakeInputs(kBf16, kRows, cols, 5);
    GeoNormOutputs alone(in);
    RunGeoNorm(*backend_, PlainOptions(), in, alone);
    const FarMatrix x(in.x), v(in.v), g(in.g), y(Nothing(cols)), dv(Nothing(cols));
    std::vector<float> saved = Saved(x, NORMLAB_GEONORM_SAVED);
    ASSERT_EQ(backend_->GeoNormForward(
                  PlainOptions(), {x.View(), v.View(), y.View(), saved.data(), nullptr, nullptr}),
              NORMLAB_OK)
        << normlab_last_error();
    EXPECT_EQ(y.Last().bytes(), alone.y.bytes());
    const normlab_matrix dx = y.View();
    ASSERT_EQ(backend_->GeoNormBackward(PlainOptions(), {g.View(), x.View(), v.View(), saved.data(),
                                                         dx, dv.View(), nullptr}),
              NORMLAB_OK)
        << normlab_last_error();
    EXPECT_EQ(y.Last().bytes(), alone.dx.bytes());
    EXPECT_EQ(dv.Last().bytes(), alone.dv.bytes());
  }
}

TEST_P(FarRowsTest, Norm) {
  for (const std::int64_t cols : kFarWidths) {
    SCOPED_TRACE(cols);
    NormCase alone({NORMLAB_LAYERNORM, 1e-5, 0}, kBf16, kRows, cols);
    RunNorm(*backend_, alone);
    const void *gain = alone.gain.DataIf(true), *bias = alone.bias.DataIf(true);
    const FarMatrix x(alone.x), g(alone.g), y(Nothing(cols));
    std::vector<float> saved = Saved(x, NORMLAB_NORM_SAVED);
    ASSERT_EQ(backend_->NormForward(alone.options, {x.View(), gain, bias, y.View(), saved.data()}),
              NORMLAB_OK)
        << normlab_last_error();
    EXPECT_EQ(y.Last().bytes(), alone.y.bytes());
    const normlab_matrix dx = y.View();
    ASSERT_EQ(backend_->NormBackward(alone.options, {g.View(), x.View(), gain, saved.data(), dx,
                                                     nullptr, nullptr, nullptr}),
              NORMLAB_OK)
        << normlab_last_error();
    EXPECT_EQ(y.Last().bytes(), alone.dx.bytes());
  }
}

TEST_P(FarRowsTest, Residual) {
  const FormChoice pre_norm{
      1, 1, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kLayerNorm};
  for (const std::int64_t cols : kFarWidths) {
    SCOPED_TRACE(cols);
    const ResidualInputs in = MakeResidualInputs(kBf16, kRows, cols, 5);
    const TestForm few(pre_norm, kBf16, kRows, cols);
    Results alone(in);
    Without without;
    without.dstream = without.dg = true;
    RunResidual(*backend_, few, in, alone, without);
    FarMatrix x(in.x);
    const FarMatrix g(in.g), stream(Nothing(cols)), next(Nothing(cols));
    const TestForm form(pre_norm, kBf16, x.View().rows, cols);
    ASSERT_EQ(backend_->ResidualForward(form.kernel(), {x.View(), g.View(), stream.View(),
                                                        next.View(), nullptr, nullptr}),
              NORMLAB_OK)
        << normlab_last_error();
    EXPECT_EQ(stream.Last().bytes(), alone.stream.bytes());
    EXPECT_EQ(next.Last().bytes(), alone.next.bytes());
    x.SetLast(in.dnext);  // nobody reads x again
    normlab_residual_backward_args args{};
    args.dnext = x.View();
    args.g = g.View();
    args.stream = stream.View();
    args.dx = next.View();
    ASSERT_EQ(backend_->ResidualBackward(form.kernel(), args), NORMLAB_OK) << normlab_last_error();
    EXPECT_EQ(next.Last().bytes(), alone.dx.bytes());
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, FarRowsTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
