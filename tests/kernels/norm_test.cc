#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/kernels/norm_run.h"

namespace normlab::kernels {
namespace {

// Rows beside the random ones; row r of a test of regimes is of regime r.
enum class NormRegime { kZeroRow, kConstant, kSubnormal, kShifted, kTiny, kHuge, kCount };
constexpr auto kRegimes = static_cast<std::int64_t>(NormRegime::kCount);

const char* NameOf(NormRegime regime) {
  static const char* const kNames[] = {
      "zero row", "constant", "subnormal", "mean of 1000 deviations", "1e-18", "1e18"};
  return kNames[static_cast<int>(regime)];
}

double Shaped(NormRegime regime, double normal) {
  switch (regime) {
    case NormRegime::kZeroRow:
      return 0;
    case NormRegime::kConstant:
      return 0.7;
    case NormRegime::kSubnormal:
      return 1e-39 * normal;
    case NormRegime::kShifted:
      return 1000 + normal;
    case NormRegime::kTiny:
      return 1e-18 * normal;
    case NormRegime::kHuge:
      return 1e18 * normal;
    case NormRegime::kCount:
      break;
  }
  return normal;
}

class NormTest : public testing::TestWithParam<std::string> {
 protected:
  NormTest() : backend_(MakeBackend(GetParam())) {}

  // Both directions against the reference.
  void Check(NormCase& c) {
    SCOPED_TRACE(c.name());
    RunNorm(*backend_, c);
    ExpectMatches(c);
  }
  void Check(NormCase&& c) { Check(c); }

  std::unique_ptr<Backend> backend_;
};

TEST_P(NormTest, MatchesTheReferenceAtEveryWidth) {
  for (const auto kind : {NORMLAB_LAYERNORM, NORMLAB_RMSNORM}) {
    for (const std::int64_t cols : kWidths) {
      for (const TypePair types : TypePairs()) {
        for (const std::int64_t rows : {1, 7}) Check({{kind, 1e-5, 0}, types, rows, cols});
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(NormTest, ParametersAndTheirSumsMayBeMissing) {
  const Parts choices[] = {
      {.gain = true, .bias = false, .dgain = true, .dbias = false},
      {.gain = false, .bias = true, .dgain = false, .dbias = true},
      {.gain = false, .bias = false, .dgain = false, .dbias = false},
      {.gain = true, .bias = true, .dgain = false, .dbias = false},
      {.gain = true, .bias = false, .dgain = false, .dbias = true},
      {.gain = false, .bias = false, .dgain = true, .dbias = true},
  };
  for (const Parts parts : choices) {
    for (const auto kind : {NORMLAB_LAYERNORM, NORMLAB_RMSNORM}) {
      for (const std::int64_t cols : {100, 128}) {
        for (const TypePair types : TypePairs()) {
          Check({{kind, 1e-5, 0}, types, 5, cols, 1, parts});
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(NormTest, MatchesTheReferenceInEveryRegime) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const auto kind : {NORMLAB_LAYERNORM, NORMLAB_RMSNORM}) {
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : kWidths) {
        // Each alone: in a column sum over all, the huge row's bound would hide the others.
        for (std::int64_t r = 0; r < kRegimes; ++r) {
          const auto regime = static_cast<NormRegime>(r);
          SCOPED_TRACE(NameOf(regime));
          NormCase c({kind, 1e-5, 0}, types, 1, cols);
          for (std::int64_t i = 0; i < cols; ++i) c.x.Set(0, i, Shaped(regime, normal(random)));
          Check(c);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(NormTest, RowsOfAnySizeKeepTheirPrecision) {
  for (const auto kind : {NORMLAB_LAYERNORM, NORMLAB_RMSNORM}) {
    for (const double size : {1e-18, 1e-3, 1e18}) {
      for (const std::int64_t cols : {100, 768}) {
        for (const int pb_relax : {0, 1}) {
          SCOPED_TRACE(testing::Message() << "size " << size);
          Check({{kind, 0.0, pb_relax}, kF32, 3, cols, size});
          if (HasFailure()) return;
        }
      }
    }
  }
}

// 0/0, as PyTorch has it: an epsilon that nobody asked for would hide the fault.
TEST_P(NormTest, WithoutEpsARowWithoutDeviationIsNan) {
  for (const auto kind : {NORMLAB_LAYERNORM, NORMLAB_RMSNORM}) {
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : {100, 128}) {
        NormCase c({kind, 0.0, 0}, types, 3, cols);
        for (std::int64_t i = 0; i < cols; ++i) c.x.Set(0, i, 0), c.x.Set(2, i, 0.5);
        SCOPED_TRACE(c.name());
        RunNorm(*backend_, c);
        for (std::int64_t i = 0; i < cols; ++i) {
          ASSERT_TRUE(std::isnan(c.y.Get(0, i)) && std::isnan(c.dx.Get(0, i))) << i;
          ASSERT_TRUE(std::isfinite(c.y.Get(1, i)) && std::isfinite(c.dx.Get(1, i))) << i;
          const bool centred = kind == NORMLAB_LAYERNORM;
          ASSERT_EQ(std::isnan(c.y.Get(2, i)) && std::isnan(c.dx.Get(2, i)), centred) << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, NormTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
