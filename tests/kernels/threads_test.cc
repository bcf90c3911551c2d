// Beyond 65,535 rows, split over threads in any way: the bits are those of one thread. All that the
// thread sanitizer's build runs of the kernels, since nothing else in them has a thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "tests/kernels/geonorm_cases.h"
#include "tests/kernels/residual_cases.h"
#include "tests/kernels/residual_run.h"
#include "tests/kernels/thread_executor.h"

namespace normlab::kernels {
namespace {

const TypePair kTypes[] = {kF32, kBf16, kMixed};
constexpr std::int64_t kRows = 65537;
// Rows repeat, out of step with the tasks: inputs of their own would take longer than all else.
constexpr std::int64_t kPeriod = 1009;

GeoNormInputs ManyRows(TypePair types, std::int64_t cols) {
  GeoNormInputs in = MakeInputs(types, kPeriod, cols, 9);
  for (HostMatrix* matrix : {&in.x, &in.v, &in.g}) *matrix = matrix->Repeated(kRows);
  return in;
}
std::int64_t ZeroRows() {
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < kRows; ++r) {
    const auto regime = static_cast<Regime>(r % kPeriod % static_cast<int>(Regime::kCount));
    count += regime == Regime::kZeroRow ? 1 : 0;
  }
  return count;
}

class GeoNormThreadsTest : public testing::TestWithParam<std::tuple<std::int64_t, std::size_t>> {
 protected:
  static void Run(const GeoNormInputs& in, const normlab_executor* executor, GeoNormOutputs& out) {
    const normlab_geonorm_options options = PlainOptions();
    const normlab_geonorm_forward_args forward = out.Forward(in);
    ASSERT_EQ(normlab_geonorm_forward(&options, &forward, executor), NORMLAB_OK);
    const normlab_geonorm_backward_args backward = out.Backward(in);
    ASSERT_EQ(normlab_geonorm_backward(&options, &backward, executor), NORMLAB_OK);
  }
};

TEST_P(GeoNormThreadsTest, ResultsDoNotDependOnThreads) {
  const auto [cols, types] = GetParam();
  const GeoNormInputs in = ManyRows(kTypes[types], cols);
  GeoNormOutputs alone(in);
  Run(in, nullptr, alone);
  EXPECT_EQ(alone.zero_rows, ZeroRows());
  for (const int threads : {2, 5}) {
    const ThreadExecutor executor(threads);
    GeoNormOutputs out(in);
    Run(in, executor.get(), out);
    EXPECT_EQ(out.y.bytes(), alone.y.bytes());
    EXPECT_EQ(out.dx.bytes(), alone.dx.bytes());
    EXPECT_EQ(out.dv.bytes(), alone.dv.bytes());
    EXPECT_EQ(out.zero_rows, alone.zero_rows);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(out.dangle[k], alone.dangle[k]);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, GeoNormThreadsTest,
                         testing::Combine(testing::Values(8, 100), testing::Values(0, 1, 2)),
                         [](const auto& info) {
                           const TypePair& types = kTypes[std::get<1>(info.param)];
                           return std::string(Name(types.stream)) + Name(types.branch) +
                                  std::to_string(std::get<0>(info.param));
                         });

// x, and v as the upstream gradient, of GeoNormInputs.
struct NormOutputs {
  NormOutputs(const GeoNormInputs& in, const normlab_executor* executor)
      : y(in.v.dtype(), in.x.rows(), in.x.cols()),
        dx(in.x.dtype(), in.x.rows(), in.x.cols()),
        dgain(NORMLAB_F32, 1, in.x.cols()),
        dbias(NORMLAB_F32, 1, in.x.cols()) {
    const normlab_norm_options options{NORMLAB_LAYERNORM, 1e-5, 0};
    HostMatrix gain(NORMLAB_F32, 1, in.x.cols()), bias(NORMLAB_F32, 1, in.x.cols());
    for (std::int64_t c = 0; c < in.x.cols(); ++c) {
      gain.Set(0, c, 1 + 0.3 * std::sin(double(c)));
      bias.Set(0, c, 0.2 * std::cos(double(c)));
    }
    std::vector<double> saved(static_cast<std::size_t>(NORMLAB_NORM_SAVED * in.x.rows()));
    const normlab_norm_forward_args forward{in.x.View(), gain.View().data, bias.View().data,
                                            y.View(), saved.data()};
    EXPECT_EQ(normlab_norm_forward(&options, &forward, executor), NORMLAB_OK);
    std::vector<char> workspace(static_cast<std::size_t>(
        normlab_norm_backward_workspace(in.x.rows(), in.x.cols(), NORMLAB_F32)));
    const normlab_norm_backward_args backward{in.v.View(),       in.x.View(),     gain.View().data,
                                              saved.data(),      dx.View(),       dgain.View().data,
                                              dbias.View().data, workspace.data()};
    EXPECT_EQ(normlab_norm_backward(&options, &backward, executor), NORMLAB_OK);
  }
  HostMatrix y, dx, dgain, dbias;
};

TEST(NormThreadsTest, ResultsDoNotDependOnThreads) {
  for (const TypePair types : kTypes) {
    const GeoNormInputs in = ManyRows(types, 100);
    const NormOutputs alone(in, nullptr);
    for (const int threads : {2, 5}) {
      const ThreadExecutor executor(threads);
      const NormOutputs out(in, executor.get());
      EXPECT_EQ(out.y.bytes(), alone.y.bytes());
      EXPECT_EQ(out.dx.bytes(), alone.dx.bytes());
      EXPECT_EQ(out.dgain.bytes(), alone.dgain.bytes());
      EXPECT_EQ(out.dbias.bytes(), alone.dbias.bytes());
    }
  }
}

// A form with every output that there is.
struct ResidualRun {
  ResidualRun(const ResidualInputs& in, const normlab_executor* executor)
      : form({1.1, 0.7, true, NormChoice::kRmsNorm, NormChoice::kLayerNorm, NormChoice::kLayerNorm},
             {in.x.dtype(), in.g.dtype()}, in.x.rows(), in.x.cols()),
        out(in) {
    std::vector<char> scratch(static_cast<std::size_t>(
        normlab_residual_forward_workspace(in.x.rows(), in.x.cols(), in.x.dtype())));
    normlab_residual_forward_args forward = ForwardArgs(form, in, out);
    forward.workspace = scratch.data();
    EXPECT_EQ(normlab_residual_forward(&form.kernel(), &forward, executor), NORMLAB_OK);
    std::vector<char> workspace(static_cast<std::size_t>(
        normlab_residual_backward_workspace(in.x.rows(), in.x.cols(), NORMLAB_F32)));
    normlab_residual_backward_args backward = BackwardArgs(form, in, out);
    backward.workspace = workspace.data();
    EXPECT_EQ(normlab_residual_backward(&form.kernel(), &backward, executor), NORMLAB_OK);
  }
  TestForm form;
  Results out;
};

class ResidualThreadsTest : public testing::TestWithParam<std::size_t> {};

TEST_P(ResidualThreadsTest, ResultsDoNotDependOnThreads) {
  ResidualInputs in = MakeResidualInputs(kTypes[GetParam()], kPeriod, 20, 71);
  for (HostMatrix* matrix : {&in.x, &in.g, &in.dstream, &in.dnext}) {
    *matrix = matrix->Repeated(kRows);
  }
  const ResidualRun alone(in, nullptr);
  for (const int threads : {2, 5}) {
    const ThreadExecutor executor(threads);
    const ResidualRun split(in, executor.get());
    EXPECT_EQ(split.out.stream.bytes(), alone.out.stream.bytes());
    EXPECT_EQ(split.out.next.bytes(), alone.out.next.bytes());
    EXPECT_EQ(split.out.probes.bytes(), alone.out.probes.bytes());
    EXPECT_EQ(split.out.dx.bytes(), alone.out.dx.bytes());
    EXPECT_EQ(split.out.dg.bytes(), alone.out.dg.bytes());
    EXPECT_EQ(split.out.columns.bytes(), alone.out.columns.bytes());
    EXPECT_EQ(split.out.db, alone.out.db);
    for (std::size_t stage = 0; stage < 3; ++stage) {
      for (std::int64_t c = 0; c < in.x.cols(); ++c) {
        EXPECT_EQ(split.form.Gain(stage, c), alone.form.Gain(stage, c)) << stage << " " << c;
        EXPECT_EQ(split.form.Bias(stage, c), alone.form.Bias(stage, c)) << stage << " " << c;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ResidualThreadsTest, testing::Values(0, 1, 2));

// Nothing is allocated inside a task: a C executor could not pass an exception on.
TEST(ResidualForwardTest, NeedsAWorkspace) {
  const ResidualInputs in = MakeResidualInputs(kTypes[0], 3, 20, 71);
  HostMatrix stream(NORMLAB_F32, 3, 20);
  normlab_residual_forward_args args{in.x.View(), in.g.View(), stream.View(), {}, nullptr, nullptr};
  const TestForm form({}, kTypes[0], 3, 20);
  EXPECT_EQ(normlab_residual_forward(&form.kernel(), &args, nullptr), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), testing::HasSubstr("needs a workspace"));
  args.x.rows = args.g.rows = args.stream.rows = 0;
  EXPECT_EQ(normlab_residual_forward(&form.kernel(), &args, nullptr), NORMLAB_OK);
}

}  // namespace
}  // namespace normlab::kernels
