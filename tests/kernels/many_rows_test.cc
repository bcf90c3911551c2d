// More rows than row groups: on CUDA at most 2112 stride over them, on the CPU at most 64 tasks
// share them; more than 65,535 where the backend is fast enough. The rows of all regimes repeat, so
// the results must. Built twice for those without a device: with narrow rows, and (label `slow`) as
// wide as models are; a GPU takes both.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/kernels/geonorm_run.h"
#include "tests/kernels/norm_run.h"
#include "tests/kernels/residual_run.h"

namespace normlab::kernels {
namespace {

struct Shape {
  std::int64_t rows, cols;
  TypePair types;
};
std::string NameOf(const Shape& shape) {
  return std::to_string(shape.rows) + "x" + std::to_string(shape.cols) + " " +
         Name(shape.types.stream) + "+" + Name(shape.types.branch);
}

// Thread by thread, 65,537 rows would take minutes.
bool IsFast(const Backend& backend) { return backend.MostElements() > 1000000; }

// One warp a row; several warps a row, which meet at barriers; the kernel for any width.
std::vector<Shape> NarrowShapes(const Backend& backend) {
  std::vector<Shape> shapes = {{2301, 128, kF32}, {2301, 128, kBf16}, {1100, 1280, kMixed}};
  for (const TypePair types : TypePairs()) {
    shapes.push_back({IsFast(backend) ? 65537 : 600, 8, types});
  }
  return shapes;
}

std::vector<Shape> WideShapes() {
  std::vector<Shape> shapes;
  for (const TypePair types : {kF32, kBf16, kMixed}) {
    shapes.push_back({65537, 768, types});
    shapes.push_back({16385, 1600, types});
    shapes.push_back({16385, 2048, types});
  }
  return shapes;
}

#if defined(NORMLAB_TEST_WIDE_ROWS)
constexpr bool kWide = true;
#else
constexpr bool kWide = false;
#endif

std::vector<Shape> ShapesFor(const Backend& backend) {
  if (kWide) return WideShapes();
  std::vector<Shape> shapes = NarrowShapes(backend);
  if (backend.Name() == "cuda") {
    for (const Shape& shape : WideShapes()) shapes.push_back(shape);
  }
  return shapes;
}

std::vector<std::string> Backends() {
  std::vector<std::string> names = BackendNames();
  if (kWide) std::erase_if(names, [](auto& name) { return !IsFast(*MakeBackend(name)); });
  return names;
}

class ManyRowsTest : public testing::TestWithParam<std::string> {
 protected:
  ManyRowsTest() : backend_(MakeBackend(GetParam())) {}

  std::unique_ptr<Backend> backend_;
};

TEST_P(ManyRowsTest, GeoNorm) {
  constexpr auto kRegimes = static_cast<std::int64_t>(Regime::kCount);
  for (const auto& shape : ShapesFor(*backend_)) {
    const auto& [rows, cols, types] = shape;
    SCOPED_TRACE(NameOf(shape));
    GeoNormInputs in = MakeInputs(types, kRegimes, cols, 41);
    for (HostMatrix* matrix : {&in.x, &in.v, &in.g}) *matrix = matrix->Repeated(rows);
    GeoNormOutputs out(in);
    out.zero_rows = 40;  // added to
    RunGeoNorm(*backend_, PlainOptions(), in, out);
    ExpectMatches(PlainOptions(), types, in, out, kRegimes);
    EXPECT_EQ(out.zero_rows, 40 + rows / kRegimes);  // the last regime
  }
}

TEST_P(ManyRowsTest, Norm) {
  constexpr std::int64_t kPeriod = 7;
  const normlab_norm_options options{NORMLAB_LAYERNORM, 1e-5, 0};
  for (const auto& shape : ShapesFor(*backend_)) {
    const auto& [rows, cols, types] = shape;
    SCOPED_TRACE(NameOf(shape));
    const NormCase few(options, types, kPeriod, cols);
    NormCase c(options, types, 0, cols);
    c.x = few.x.Repeated(rows);
    c.g = few.g.Repeated(rows);
    c.y = HostMatrix(types.branch, rows, cols);
    c.dx = HostMatrix(types.stream, rows, cols);
    c.saved.resize(static_cast<std::size_t>(NORMLAB_NORM_SAVED * rows));
    RunNorm(*backend_, c);
    ExpectMatches(c, kPeriod);
  }
}

TEST_P(ManyRowsTest, Residual) {
  constexpr auto kRegimes = static_cast<std::int64_t>(ResidualRegime::kCount);
  const FormChoice full{
      1.1, 0.7, true, NormChoice::kRmsNorm, NormChoice::kNone, NormChoice::kLayerNorm};
  for (const auto& shape : ShapesFor(*backend_)) {
    const auto& [rows, cols, types] = shape;
    SCOPED_TRACE(NameOf(shape));
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

INSTANTIATE_TEST_SUITE_P(Backends, ManyRowsTest, testing::ValuesIn(Backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
