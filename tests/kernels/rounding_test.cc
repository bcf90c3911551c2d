// What becomes of numbers between two bf16: the nearer, of a tie the even one, NaN and Inf as they
// are. On every backend, in every column of rows that have whole vectors and a tail.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "tests/kernels/backend.h"
#include "tests/kernels/geonorm_cases.h"
#include "tests/kernels/residual_cases.h"

namespace normlab::kernels {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMost = 0x1.fep127;  // the largest bf16

// Both terms are bf16, their sum is an fp32.
struct Rounded {
  double one, other, want;
};
constexpr Rounded kSums[] = {
    {1, 0x1p-8, 1},  // ties
    {1, 0x3p-8, 1 + 0x1p-6},
    {-1, -0x1p-8, -1},
    {-1, -0x3p-8, -1 - 0x1p-6},
    {1, 0x1.1p-8, 1 + 0x1p-7},  // a little above, a little below
    {1, 0x1.ep-9, 1},
    {1 + 0x1p-7, -0x1.1p-8, 1},
    {kMost, 0x1p118, kMost},
    {kMost, 0x1p119, kInf},  // the tie beyond the largest
    {-kMost, -0x1p119, -kInf},
    {0x1p-130, 0x1p-133, 0x1.2p-130},  // subnormals, two of them a tie
    {-0x1p-130, -0x1p-134, -0x1p-130},
    {kInf, 1, kInf},
    {1, -kInf, -kInf},
    {std::numeric_limits<double>::quiet_NaN(), 1, std::numeric_limits<double>::quiet_NaN()},
};

void ExpectNumber(double got, double want, std::int64_t column) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << "column " << column << ": " << got;
  } else {
    EXPECT_EQ(got, want) << "column " << column;
  }
}

class RoundingTest : public testing::TestWithParam<std::string> {
 protected:
  RoundingTest() : backend_(MakeBackend(GetParam())) {}
  std::unique_ptr<Backend> backend_;
};

TEST_P(RoundingTest, SumOfTwoBf16) {
  for (const std::int64_t cols : {87, 128}) {
    ResidualInputs in(kBf16, 1, cols);
    HostMatrix stream(NORMLAB_BF16, 1, cols);
    for (std::int64_t c = 0; c < cols; ++c) {
      const Rounded& sum = kSums[static_cast<std::size_t>(c) % std::size(kSums)];
      in.x.Set(0, c, sum.one);
      in.g.Set(0, c, sum.other);
    }
    const TestForm form({}, kBf16, 1, cols);
    ASSERT_EQ(backend_->ResidualForward(
                  form.kernel(), {in.x.View(), in.g.View(), stream.View(), {}, nullptr, nullptr}),
              NORMLAB_OK)
        << normlab_last_error();
    for (std::int64_t c = 0; c < cols; ++c) {
      ExpectNumber(stream.Get(0, c), kSums[static_cast<std::size_t>(c) % std::size(kSums)].want, c);
    }
  }
}

// dg is the upstream gradient of an fp32 stream, rounded.
TEST_P(RoundingTest, Fp32ToBf16) {
  for (const std::int64_t cols : {87, 128}) {
    ResidualInputs in(kMixed, 1, cols);
    HostMatrix dx(NORMLAB_F32, 1, cols), dg(NORMLAB_BF16, 1, cols);
    for (std::int64_t c = 0; c < cols; ++c) {
      const Rounded& sum = kSums[static_cast<std::size_t>(c) % std::size(kSums)];
      in.dstream.Set(0, c, sum.one + sum.other);
    }
    const TestForm form({}, kMixed, 1, cols);
    normlab_residual_backward_args args{};
    args.dstream = in.dstream.View();
    args.g = in.g.View();
    args.dx = dx.View();
    args.dg = dg.View();
    ASSERT_EQ(backend_->ResidualBackward(form.kernel(), args), NORMLAB_OK) << normlab_last_error();
    for (std::int64_t c = 0; c < cols; ++c) {
      ExpectNumber(dg.Get(0, c), kSums[static_cast<std::size_t>(c) % std::size(kSums)].want, c);
    }
  }
}

// GeoNorm walks bf16 rows in its own way. A row made so that y = (x + v)/2 exactly: v is square to
// x, |v|^2 = 3|x|^2, and the projection divides by sqrt(1 + 3). All sums are exact in fp32.
TEST_P(RoundingTest, GeoNormOfBf16) {
  const normlab_geonorm_options options{NORMLAB_PROJECTION, 1, 1, 0, 0, 0, 0};
  constexpr double kOfX[6] = {4, 4, 4, 4, 4, 4};
  constexpr double kOfV[6] = {0x20p-7, 0x7p-7, 0x2p-7, 0x1p-7, 0x1p-7, 0x1p-7};
  constexpr std::int64_t kTies = 72;
  for (const std::int64_t cols : {87, 128}) {
    GeoNormInputs in(kBf16, 1, cols);
    HostMatrix y(NORMLAB_BF16, 1, cols);
    std::vector<double> want(static_cast<std::size_t>(cols), 0);
    const auto set = [&](std::int64_t c, double x, double v, double mean) {
      in.x.Set(0, c, x);
      in.v.Set(0, c, v);
      want[static_cast<std::size_t>(c)] = mean;
    };
    const std::int64_t first = cols - kTies;  // the ties reach to the row's end
    for (int i = 0; i < 6; ++i) {
      set(first - 12 + i, kOfX[i], 0, kOfX[i] / 2);
      set(first - 6 + i, 0, kOfV[i], kOfV[i] / 2);
    }
    for (std::int64_t i = 0; i < kTies; ++i) {
      // 1 + 2^-8, 1 + 3·2^-8, and the numbers below 1 that make <x,v> = 0 and need no rounding.
      const double x = (i / 2 % 2 == 0 ? 0x1p-7 : 0x3p-7), sign = i % 2 == 0 ? 1 : -1;
      const double exact = (sign * x + 2) / 2;
      set(first + i, sign * x, 2, sign < 0 ? exact : x == 0x1p-7 ? 1 : 1 + 0x1p-6);
    }
    ASSERT_EQ(backend_->GeoNormForward(
                  options, {in.x.View(), in.v.View(), y.View(), nullptr, nullptr, nullptr}),
              NORMLAB_OK)
        << normlab_last_error();
    for (std::int64_t c = 0; c < cols; ++c) {
      ExpectNumber(y.Get(0, c), want[static_cast<std::size_t>(c)], c);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, RoundingTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
