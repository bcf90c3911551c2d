#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iterator>
#include <random>

#include "tests/kernels/backend.h"
#include "tests/kernels/geonorm_run.h"

namespace normlab::kernels {
namespace {

constexpr auto kRegimes = static_cast<std::int64_t>(Regime::kCount);

class GeoNormTest : public testing::TestWithParam<std::string> {
 protected:
  GeoNormTest() : backend_(MakeBackend(GetParam())) {}

  void Run(const normlab_geonorm_options& options, const GeoNormInputs& in, GeoNormOutputs& out,
           const LearnedNumbers& learned = {}) {
    RunGeoNorm(*backend_, options, in, out, learned);
  }

  // Both directions, every regime, against the reference.
  void Check(const normlab_geonorm_options& options, TypePair types, std::int64_t cols);

  std::unique_ptr<Backend> backend_;
};

TEST_P(GeoNormTest, MatchesTheReferenceInEveryRegimeAtEveryWidth) {
  for (const std::int64_t cols : kWidths) {
    for (const TypePair types : TypePairs()) {
      SCOPED_TRACE(testing::Message() << kRegimes << "x" << cols << " " << Name(types.stream) << "+"
                                      << Name(types.branch));
      const GeoNormInputs in = MakeInputs(types, kRegimes, cols, 17);
      GeoNormOutputs out(in);
      Run(PlainOptions(), in, out);
      ExpectMatches(PlainOptions(), types, in, out);
      EXPECT_EQ(out.zero_rows, 1);
      if (HasFailure()) return;
    }
  }
}

TEST_P(GeoNormTest, MatchesTheReferenceForFewRows) {
  for (const std::int64_t rows : {0, 1, 7}) {
    for (const std::int64_t cols : kWidths) {
      for (const TypePair types : TypePairs()) {
        SCOPED_TRACE(testing::Message() << rows << "x" << cols << " " << Name(types.stream) << "+"
                                        << Name(types.branch));
        const GeoNormInputs in = MakeInputs(types, rows, cols, 47);
        GeoNormOutputs out(in);
        for (double& sum : out.dangle) sum = 9;  // written, not added to
        Run(PlainOptions(), in, out);
        ExpectMatches(PlainOptions(), types, in, out);
        if (HasFailure()) return;
      }
    }
  }
}

void GeoNormTest::Check(const normlab_geonorm_options& options, TypePair types, std::int64_t cols) {
  SCOPED_TRACE(testing::Message() << Name(options) << " width " << cols << " " << Name(types.stream)
                                  << "+" << Name(types.branch));
  const GeoNormInputs in = MakeInputs(types, kRegimes, cols, 23);
  GeoNormOutputs out(in);
  Run(options, in, out);
  ExpectMatches(options, types, in, out);
}

TEST_P(GeoNormTest, MatchesTheReferenceForEveryOption) {
  for (const normlab_geonorm_options& options : OptionVariants()) {
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : {100, 128, 136}) {
        Check(options, types, cols);
        if (HasFailure()) return;
      }
    }
  }
}

// The options meet the types in turn: all the pairs are many elements, and the scalars are one
// code.
TEST_P(GeoNormTest, MatchesTheReferenceForEveryOptionOfWideRows) {
  const TypePair pairs[] = {kF32, kMixed, kBf16};
  std::size_t turn = 0;
  for (const normlab_geonorm_options& options : OptionVariants()) {
    for (const std::int64_t cols : {768, 1600}) {
      Check(options, pairs[turn++ % std::size(pairs)], cols);
      if (HasFailure()) return;
    }
  }
}

// In a sum over all regimes the huge rows' bounds would hide the others.
TEST_P(GeoNormTest, AngleGradientsOfEachRegimeAlone) {
  const normlab_geonorm_options shifted{NORMLAB_EXP, 0.5, 1.5, -0.3, 0, 0, 0};
  for (const normlab_geonorm_options& options : {PlainOptions(), shifted}) {
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : {100, 128}) {
        const GeoNormInputs in = MakeInputs(types, kRegimes, cols, 31);
        for (std::int64_t r = 0; r < kRegimes; ++r) {
          SCOPED_TRACE(testing::Message()
                       << Name(static_cast<Regime>(r)) << " " << Name(options) << " width " << cols
                       << " " << Name(types.stream) << "+" << Name(types.branch));
          const GeoNormInputs row = OneRow(in, r);
          GeoNormOutputs out(row);
          Run(options, row, out);
          const auto x = row.x.Row(0), v = row.v.Row(0), g = row.g.Row(0);
          const auto want = reference::GeoNormBackward(options, x, v, g);
          ExpectAngleGradients(out, {want.dalpha, want.dscale, want.dbias},
                               BoundsOf(options, types, x, v, g).dangle);
        }
        if (HasFailure()) return;
      }
    }
  }
}

// Where scale and bias are learned, they are numbers of the arithmetic's type, here exact in fp32.
TEST_P(GeoNormTest, LearnedScaleAndBiasMatchTheReference) {
  const LearnedNumbers choices[] = {
      {.scale = 1.75, .bias = {}}, {.scale = {}, .bias = 0.125}, {.scale = 0.5, .bias = -0.25},
      {.scale = -1.25, .bias = 0}, {.scale = 0, .bias = 0.375},
  };
  for (const LearnedNumbers& learned : choices) {
    for (const double clamp : {0.0, 0.75}) {
      const normlab_geonorm_options given{NORMLAB_EXP, 0.5, 1.5, 0.0625, clamp, 0, 0};
      const normlab_geonorm_options options = WithNumbers(given, learned);
      for (const TypePair types : TypePairs()) {
        for (const std::int64_t cols : {136, 384}) {
          SCOPED_TRACE(testing::Message() << Name(options) << " width " << cols << " "
                                          << Name(types.stream) << "+" << Name(types.branch));
          const GeoNormInputs in = MakeInputs(types, kRegimes, cols, 19);
          GeoNormOutputs out(in);
          Run(given, in, out, learned);
          ExpectMatches(options, types, in, out);
          if (HasFailure()) return;
        }
      }
    }
  }
}

GeoNormInputs MakeNearlyParallel(TypePair types, std::int64_t rows, std::int64_t cols, double c) {
  GeoNormInputs in(types, rows, cols);
  std::mt19937_64 random(43);
  std::normal_distribution<double> normal;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < cols; ++i) {
      in.x.Set(row, i, normal(random));
      in.v.Set(row, i, c * in.x.Get(row, i) + 0.3 * normal(random));
      in.g.Set(row, i, normal(random));
    }
  }
  return in;
}

TEST_P(GeoNormTest, ProbesTellMagnitudeAndAngle) {
  normlab_geonorm_options large = PlainOptions();
  large.alpha = 3;  // beyond a half turn in some regimes
  for (const normlab_geonorm_options& options : {PlainOptions(), large}) {
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : {100, 768}) {
        SCOPED_TRACE(testing::Message() << Name(options) << " width " << cols << " "
                                        << Name(types.stream) << "+" << Name(types.branch));
        // The regimes up to kTinyAngle keep sums within every type.
        const GeoNormInputs in = MakeInputs(types, 2, cols, 29);
        GeoNormOutputs out(in);
        Run(options, in, out);
        for (std::int64_t r = 0; r < 2; ++r) {
          const auto row = reference::GeoNormForward(options, in.x.Row(r), in.v.Row(r));
          long double absolute = 0, squares = 0;
          for (const long double y : out.y.Row(r)) absolute += std::fabs(y), squares += y * y;
          const double angle = std::acos(std::cos(static_cast<double>(row.theta)));
          const double bound = 64 * ArithmeticRoundoff(types.stream);
          EXPECT_NEAR(out.Probe(r, 0) * static_cast<double>(cols / absolute), 1, bound);
          EXPECT_NEAR(out.Probe(r, 1) / static_cast<double>(squares), 1, bound);
          EXPECT_NEAR(out.Probe(r, 2), angle, bound * (1 + static_cast<double>(row.theta)) + 1e-7);
        }
      }
    }
  }
}

// v = c·x + 0.3·noise. The rounding of beta·x_i is the first to show in u_i = v_i - beta·x_i, and
// beta's own error adds a part along x, which is square to u. |v|^2 - beta·<x,v> instead would lose
// (c/0.3)^2 roundings: 3 % at c = 100, everything at 1000.
TEST_P(GeoNormTest, TangentPartSurvivesANearlyParallelBranch) {
  constexpr std::int64_t kRows = 3;
  for (const double c : {100.0, 1000.0}) {
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : {100, 128, 1600}) {
        SCOPED_TRACE(testing::Message() << "c " << c << " width " << cols << " "
                                        << Name(types.stream) << "+" << Name(types.branch));
        const GeoNormInputs in = MakeNearlyParallel(types, kRows, cols, c);
        GeoNormOutputs out(in);
        Run(PlainOptions(), in, out);
        for (std::int64_t r = 0; r < kRows; ++r) {
          const auto row = reference::GeoNormForward(PlainOptions(), in.x.Row(r), in.v.Row(r));
          const double parallel = static_cast<double>(row.along * row.radius / row.tangent_size);
          const double one = ArithmeticRoundoff(types.stream);
          const double sum = (12 + static_cast<double>(cols) / 16) * one;
          const double bound = sum + 2 * one * parallel + std::pow(sum * parallel, 2);
          const long double squared = row.tangent_size * row.tangent_size;
          EXPECT_NEAR(out.Saved(r, 2) / static_cast<double>(squared), 1, bound);
          EXPECT_NEAR(out.Probe(r, 2) / static_cast<double>(row.theta), 1, bound);
        }
      }
    }
  }
}

// The trainer asks for probes on some steps, and for the angle's gradients where it is learned.
TEST_P(GeoNormTest, OutputsMayBeMissing) {
  const normlab_geonorm_options shifted{NORMLAB_EXP, 0.5, 1.5, -0.3, 0, 0, 0};
  for (const normlab_geonorm_options& options : {PlainOptions(), shifted}) {
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : {100, 128}) {
        SCOPED_TRACE(testing::Message() << Name(options) << " width " << cols << " "
                                        << Name(types.stream) << "+" << Name(types.branch));
        const GeoNormInputs in = MakeInputs(types, kRegimes, cols, 37);
        GeoNormOutputs all(in), out(in);
        Run(options, in, all);
        ASSERT_EQ(backend_->GeoNormForward(
                      options, {in.x.View(), in.v.View(), out.y.View(), nullptr, nullptr, nullptr}),
                  NORMLAB_OK)
            << normlab_last_error();
        EXPECT_EQ(out.y.bytes(), all.y.bytes());
        normlab_geonorm_backward_args backward = out.Backward(in);
        backward.saved = all.saved.data();
        backward.dangle = nullptr;
        ASSERT_EQ(backend_->GeoNormBackward(options, backward), NORMLAB_OK) << normlab_last_error();
        for (std::int64_t r = 0; r < kRegimes; ++r) ExpectRowMatches(options, types, in, out, r);
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, GeoNormTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
