// Outputs that share memory with other operands are refused. Not for the GPU's program, whose
// copies of the buffers lie apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tests/kernels/backend.h"
#include "tests/kernels/geonorm_cases.h"
#include "tests/kernels/residual_run.h"

namespace normlab::kernels {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OverlapTest : public testing::TestWithParam<std::string> {
 protected:
  OverlapTest() : backend_(MakeBackend(GetParam())) {}
  std::unique_ptr<Backend> backend_;
};

TEST_P(OverlapTest, OfGeoNorm) {
  const GeoNormInputs in = MakeInputs(kF32, 7, 128, 8);
  GeoNormOutputs out(in);
  normlab_geonorm_forward_args forward = out.Forward(in);
  forward.y = in.x.View();
  forward.y.data = static_cast<char*>(forward.y.data) + 16;
  EXPECT_EQ(backend_->GeoNormForward(PlainOptions(), forward), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), AllOf(HasSubstr("y [7, 128] overlaps x [7, 128] in memory"),
                                          HasSubstr("must lie apart, or be the same matrix")));
  // The last row of v is the first of y.
  forward.y = in.v.View();
  forward.y.data = static_cast<float*>(forward.y.data) + std::ptrdiff_t{6} * 128;
  EXPECT_EQ(backend_->GeoNormForward(PlainOptions(), forward), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), HasSubstr("y [7, 128] overlaps v [7, 128]"));

  normlab_geonorm_backward_args backward = out.Backward(in);
  backward.dv = backward.dx;
  EXPECT_EQ(backend_->GeoNormBackward(PlainOptions(), backward), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), HasSubstr("dx [7, 128] overlaps dv [7, 128]"));
}

TEST_P(OverlapTest, OfNorms) {
  const GeoNormInputs in = MakeInputs(kF32, 7, 128, 8);
  const normlab_norm_options options{NORMLAB_LAYERNORM, 1e-5, 0};
  normlab_norm_forward_args forward{in.x.View(), nullptr, nullptr, in.x.View(), nullptr};
  forward.y.data = static_cast<char*>(forward.y.data) + 16;
  EXPECT_EQ(backend_->NormForward(options, forward), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), HasSubstr("y [7, 128] overlaps x [7, 128]"));
  std::vector<float> saved(std::size_t{2} * 7);
  normlab_norm_backward_args backward{in.v.View(), in.x.View(), nullptr, saved.data(),
                                      in.v.View(), nullptr,     nullptr, nullptr};
  backward.dx.row_stride = 256;  // the same first row, and others apart
  EXPECT_EQ(backend_->NormBackward(options, backward), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), HasSubstr("dx [7, 128] overlaps g [7, 128]"));
}

TEST_P(OverlapTest, OfUpdates) {
  const ResidualInputs in = MakeResidualInputs(kF32, 3, 128, 61);
  const FormChoice full{
      1.1, 0.7, true, NormChoice::kRmsNorm, NormChoice::kNone, NormChoice::kLayerNorm};
  const TestForm form(full, kF32, 3, 128);
  Results out(in);
  const auto forward = [&](normlab_matrix stream, normlab_matrix next) {
    EXPECT_EQ(backend_->ResidualForward(form.kernel(),
                                        {in.x.View(), in.g.View(), stream, next, nullptr, nullptr}),
              NORMLAB_INVALID_ARGUMENT);
    return std::string(normlab_last_error());
  };
  EXPECT_THAT(forward(in.x.View(), out.next.View()),
              HasSubstr("stream [3, 128] overlaps x [3, 128] in memory: it must lie apart"));
  EXPECT_THAT(forward(out.stream.View(), in.g.View()), HasSubstr("next [3, 128] overlaps g"));
  EXPECT_THAT(forward(out.stream.View(), out.stream.View()),
              HasSubstr("next [3, 128] overlaps stream"));
  const auto backward = [&](auto change) -> std::string {
    normlab_residual_backward_args args = BackwardArgs(form, in, out);
    change(args);
    EXPECT_EQ(backend_->ResidualBackward(form.kernel(), args), NORMLAB_INVALID_ARGUMENT);
    return normlab_last_error();
  };
  EXPECT_THAT(backward([](auto& args) { args.dx = args.dstream; }),
              HasSubstr("dx [3, 128] overlaps dstream"));
  EXPECT_THAT(backward([](auto& args) { args.dg = args.dnext; }),
              HasSubstr("dg [3, 128] overlaps"));
  EXPECT_THAT(backward([](auto& args) { args.dg = args.dx; }),
              HasSubstr("dg [3, 128] overlaps dx"));
}

INSTANTIATE_TEST_SUITE_P(Backends, OverlapTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
