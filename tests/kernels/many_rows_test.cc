// More rows than row groups: on CUDA at most 2112 stride over them, on the CPU at most 64 tasks
// share them; more than 65,535 where the backend is fast enough. The rows of all regimes repeat, so
// the results must. Built twice: with narrow rows, and (label `slow`) as wide as models are.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/kernels/geonorm_run.h"
#include "tests/kernels/norm_run.h"
#include "tests/kernels/residual_run.h"

namespace normlab::kernels {
namespace {

const TypePair kTypes[] = {kF32, kBf16};

struct Shape {
  std::int64_t rows, cols;
};

class ManyRowsTest : public testing::TestWithParam<std::string> {
 protected:
  ManyRowsTest() : backend_(MakeBackend(GetParam())) {}

  std::vector<Shape> Shapes() const {
    const bool fast = backend_->MostElements() > 1000000;
#if defined(NORMLAB_TEST_WIDE_ROWS)
    if (!fast) return {};
    return {{ 65537, 768 }};
#else
    return {{2301, 128}, {fast ? 65537 : 600, 8}};
#endif
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(ManyRowsTest, GeoNorm) {
  constexpr auto kRegimes = static_cast<std::int64_t>(Regime::kCount);
  for (const auto& [rows, cols] : Shapes()) {
    for (const TypePair types : kTypes) {
      SCOPED_TRACE(testing::Message() << rows << "x" << cols << " " << Name(types.stream));
      GeoNormInputs in = MakeInputs(types, kRegimes, cols, 41);
      for (HostMatrix* matrix : {&in.x, &in.v, &in.g}) *matrix = matrix->Repeated(rows);
      GeoNormOutputs out(in);
      out.zero_rows = 40;  // added to
      RunGeoNorm(*backend_, PlainOptions(), in, out);
      ExpectMatches(PlainOptions(), types, in, out, kRegimes);
      EXPECT_EQ(out.zero_rows, 40 + rows / kRegimes);  // the last regime
    }
  }
}

TEST_P(ManyRowsTest, Norm) {
  constexpr std::int64_t kPeriod = 7;
  const normlab_norm_options options{NORMLAB_LAYERNORM, 1e-5, 0};
  for (const auto& [rows, cols] : Shapes()) {
    for (const TypePair types : kTypes) {
      SCOPED_TRACE(testing::Message() << rows << "x" << cols << " " << Name(types.stream));
      const NormCase few(options, types, kPeriod, cols);
      NormCase c(options, types, 0, cols);
      c.x = few.x.Repeated(rows);
      c.g = few.g.Repeated(rows);
      c.y = c.dx = HostMatrix(types.stream, rows, cols);
      c.saved.resize(static_cast<std::size_t>(NORMLAB_NORM_SAVED * rows));
      RunNorm(*backend_, c);
      ExpectMatches(c, kPeriod);
    }
  }
}

TEST_P(ManyRowsTest, Residual) {
  constexpr auto kRegimes = static_cast<std::int64_t>(ResidualRegime::kCount);
  const FormChoice full{
      1.1, 0.7, true, NormChoice::kRmsNorm, NormChoice::kNone, NormChoice::kLayerNorm};
  for (const auto& [rows, cols] : Shapes()) {
    for (const TypePair types : kTypes) {
      SCOPED_TRACE(testing::Message() << rows << "x" << cols << " " << Name(types.stream));
      ResidualInputs in = MakeResidualInputs(types, kRegimes, cols, 67);
      for (HostMatrix* matrix : {&in.x, &in.g, &in.dstream, &in.dnext}) {
        *matrix = matrix->Repeated(rows);
      }
      const TestForm form(full, types, rows, cols);
      Results out(in);
      RunResidual(*backend_, form, in, out);
      ExpectMatches(form, types, in, out, {}, kRegimes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ManyRowsTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
