#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/residual_run.h"

namespace normlab::kernels {
namespace {

using reference::Vector;

constexpr auto kRegimes = static_cast<std::int64_t>(ResidualRegime::kCount);

class ResidualTest : public testing::TestWithParam<std::string> {
 protected:
  ResidualTest() : backend_(MakeBackend(GetParam())) {}

  void Run(const TestForm& form, const ResidualInputs& in, Results& out, Without without = {}) {
    RunResidual(*backend_, form, in, out, without);
  }
  // Both directions against the reference.
  void Check(const FormChoice& choice, TypePair types, std::int64_t rows, std::int64_t cols,
             Without without = {});

  std::unique_ptr<Backend> backend_;
};

void ResidualTest::Check(const FormChoice& choice, TypePair types, std::int64_t rows,
                         std::int64_t cols, Without without) {
  SCOPED_TRACE(testing::Message() << Name(choice) << " " << rows << "x" << cols << " "
                                  << Name(types.stream) << "+" << Name(types.branch) << " without"
                                  << Name(without));
  const ResidualInputs in = MakeResidualInputs(types, rows, cols, 31);
  const TestForm form(choice, types, rows, cols);
  Results out(in);
  Run(form, in, out, without);
  ExpectMatches(form, types, in, out, without);
}

TEST_P(ResidualTest, MatchesTheReferenceForEveryForm) {
  for (const FormChoice& choice : FormChoices()) {
    // PB-relax shrinks eps with the row: the gradients of a subnormal row would be beyond fp32.
    const auto subnormal = static_cast<std::int64_t>(ResidualRegime::kSubnormal);
    const std::int64_t rows = choice.pb_relax != 0 ? subnormal : 2 * kRegimes;
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : {128, 136}) {
        Check(choice, types, rows, cols);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ResidualTest, MatchesTheReferenceAtEveryWidth) {
  const FormChoice choices[] = {
      {1, 1, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kLayerNorm},
      {1.5, 1, false, NormChoice::kNone, NormChoice::kRmsNorm, NormChoice::kNone},
      {1, 0.5, true, NormChoice::kLayerNorm, NormChoice::kNone, NormChoice::kRmsNorm},
  };
  for (const FormChoice& choice : choices) {
    for (const std::int64_t cols : kWidths) {
      for (const TypePair types : TypePairs()) {
        Check(choice, types, kRegimes, cols);
        if (HasFailure()) return;
      }
    }
  }
}

// Without dnext the sums of the next norm are zero.
TEST_P(ResidualTest, OneUpstreamMayBeMissing) {
  const FormChoice choices[] = {
      {1, 1, false, NormChoice::kLayerNorm, NormChoice::kNone, NormChoice::kLayerNorm},
      {2, 0.5, true, NormChoice::kNone, NormChoice::kRmsNorm, NormChoice::kRmsNorm},
  };
  for (const FormChoice& choice : choices) {
    for (const Without without : {Without{.dstream = true}, Without{.dnext = true}}) {
      for (const TypePair types : TypePairs()) {
        for (const std::int64_t cols : {100, 128}) Check(choice, types, kRegimes, cols, without);
        if (HasFailure()) return;
      }
    }
  }
}

// What a trainer leaves out: a fixed b has no gradient, and dg is not written where it equals dx.
TEST_P(ResidualTest, OutputsMayBeMissing) {
  const Without choices[] = {
      {.probes = true, .dg = true, .db = true, .columns = true},
      {.dg = true, .columns = true},
      {.dg = true, .db = true, .parameters = true},
      {.db = true, .columns = true, .parameters = true},
      {.db = true},
  };
  const FormChoice alike[] = {
      {1, 1, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kNone},
      {1, 1, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kLayerNorm},
      {0.7, 0.7, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kRmsNorm},
      {1, 1, false, NormChoice::kNone, NormChoice::kLayerNorm, NormChoice::kNone},
  };
  for (const FormChoice& choice : alike) {
    for (const Without without : choices) {
      for (const TypePair types : {kF32, kBf16, kF64}) {
        for (const std::int64_t cols : {100, 128}) Check(choice, types, kRegimes, cols, without);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ResidualTest, OutputsOfABranchMayBeMissing) {
  const FormChoice choices[] = {
      {1, 0.5, true, NormChoice::kLayerNorm, NormChoice::kNone, NormChoice::kRmsNorm},
      {1.5, 2, false, NormChoice::kRmsNorm, NormChoice::kLayerNorm, NormChoice::kNone},
      {1, 0.5, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kLayerNorm, 0, 1e-5, 1.75},
  };
  for (const FormChoice& choice : choices) {
    for (const Without without : {Without{.probes = true, .db = true, .columns = true},
                                  Without{.db = true, .parameters = true}}) {
      for (const TypePair types : TypePairs()) {
        for (const std::int64_t cols : {100, 128}) Check(choice, types, kRegimes, cols, without);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ResidualTest, ProbesTellMagnitudeAndAngle) {
  for (const TypePair types : {kF32, kBf16}) {
    for (const std::int64_t cols : {100, 768}) {
      const ResidualInputs in = MakeResidualInputs(types, 1, cols, 43);
      const TestForm form({1, 0.2}, types, 1, cols);
      Results out(in);
      Run(form, in, out);
      const Vector x = in.x.Row(0), s = out.stream.Row(0);
      long double absolute = 0, squares = 0, xx = 0, dot = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        absolute += std::fabs(s[i]);
        squares += s[i] * s[i];
        xx += x[i] * x[i];
        dot += x[i] * s[i];
      }
      const double angle = std::acos(static_cast<double>(dot / std::sqrt(squares * xx)));
      EXPECT_NEAR(out.probes.Get(0, 0), static_cast<double>(absolute / x.size()), 1e-5);
      EXPECT_NEAR(out.probes.Get(0, 1) / static_cast<double>(squares), 1, 1e-5);
      EXPECT_NEAR(out.probes.Get(0, 2), angle, 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ResidualTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
