#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/norm/norm_reference.h"
#include "tests/kernels/backend.h"
#include "tests/kernels/geonorm_cases.h"

namespace normlab::kernels {
namespace {

using reference::Vector;

// Which parameters a norm has, and which column sums are wanted.
struct Parts {
  bool gain = true, bias = true, dgain = true, dbias = true;
};

class NormTest : public testing::TestWithParam<std::string> {
 protected:
  NormTest() : backend_(MakeBackend(GetParam())) {}

  // Both directions against the reference, dgain and dbias included where they are wanted.
  void Check(const normlab_norm_options& options, TypePair types, std::int64_t rows,
             std::int64_t cols, double size, Parts parts = {});

  std::unique_ptr<Backend> backend_;
};

// Reals of a parameter: float or double, as the stream asks.
struct Parameter {
  Parameter(normlab_dtype stream, std::int64_t cols)
      : matrix(stream == NORMLAB_F64 ? NORMLAB_F64 : NORMLAB_F32, 1, cols) {}
  void* DataIf(bool present) const { return present ? matrix.View().data : nullptr; }
  Vector RowIf(bool present) const { return present ? matrix.Row(0) : Vector(); }
  HostMatrix matrix;
};

void Fill(HostMatrix& matrix, std::mt19937_64& random, double size, double shift) {
  std::normal_distribution<double> normal;
  for (std::int64_t r = 0; r < matrix.rows(); ++r) {
    for (std::int64_t c = 0; c < matrix.cols(); ++c) {
      matrix.Set(r, c, size * (normal(random) + shift));
    }
  }
}

void NormTest::Check(const normlab_norm_options& options, TypePair types, std::int64_t rows,
                     std::int64_t cols, double size, Parts parts) {
  std::mt19937_64 random(5);
  HostMatrix x(types.stream, rows, cols), y(types.branch, rows, cols), g(types.branch, rows, cols),
      dx(types.stream, rows, cols);
  Parameter gain(types.stream, cols), bias(types.stream, cols), dgain(types.stream, cols),
      dbias(types.stream, cols);
  Fill(x, random, size, 0.5);
  Fill(g, random, 1, 0);
  Fill(gain.matrix, random, 1, 1);
  Fill(bias.matrix, random, 1, 0);
  std::vector<double> saved(static_cast<std::size_t>(2 * rows + 1));
  ASSERT_EQ(backend_->NormForward(options, {x.View(), gain.DataIf(parts.gain),
                                            bias.DataIf(parts.bias), y.View(), saved.data()}),
            NORMLAB_OK)
      << normlab_last_error();
  ASSERT_EQ(backend_->NormBackward(
                options, {g.View(), x.View(), gain.DataIf(parts.gain), saved.data(), dx.View(),
                          dgain.DataIf(parts.dgain), dbias.DataIf(parts.dbias), nullptr}),
            NORMLAB_OK)
      << normlab_last_error();

  const double roundings = (12 + static_cast<double>(cols) / 16) * ArithmeticRoundoff(types.stream);
  const Vector gains = gain.RowIf(parts.gain), biases = bias.RowIf(parts.bias);
  const auto width = static_cast<std::size_t>(cols);
  Vector by_gain(width), by_bias(width), sizes(width);
  for (std::int64_t r = 0; r < rows; ++r) {
    SCOPED_TRACE(testing::Message() << "row " << r);
    const Vector upstream = g.Row(r);
    const auto row = reference::NormForward(options, x.Row(r), gains, biases);
    const Vector back = reference::NormBackward(options, x.Row(r), gains, upstream);
    long double length = 0;
    const auto gain_at = [&](std::size_t i) { return gains.empty() ? 1 : double(gains[i]); };
    const auto bias_at = [&](std::size_t i) { return biases.empty() ? 0 : double(biases[i]); };
    for (std::size_t i = 0; i < width; ++i) length += std::pow(upstream[i] * gain_at(i), 2);
    const double steep = static_cast<double>(std::sqrt(length) * row.rstd);
    for (std::size_t i = 0; i < width; ++i) {
      const auto c = static_cast<std::int64_t>(i);
      // The mean's cancellation is of order |mean|·rstd, at most 1 here.
      const double unit = 2 + std::fabs(static_cast<double>(row.unit[i]));
      ASSERT_NEAR(y.Get(r, c), static_cast<double>(row.out[i]),
                  roundings * (unit * std::fabs(gain_at(i)) + std::fabs(bias_at(i))) +
                      UnitRoundoff(types.branch) * 1.01 * std::fabs(double(row.out[i])));
      ASSERT_NEAR(dx.Get(r, c), static_cast<double>(back[i]),
                  roundings * steep * unit +
                      UnitRoundoff(types.stream) * 1.01 * std::fabs(double(back[i])) + 1e-44);
      by_gain[i] += upstream[i] * row.unit[i];
      by_bias[i] += upstream[i];
      sizes[i] += std::fabs(upstream[i]) * unit;
    }
  }
  for (std::int64_t c = 0; c < cols; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const double slack = roundings * static_cast<double>(sizes[i]) * 2;
    if (parts.dgain) {
      ASSERT_NEAR(dgain.matrix.Get(0, c), static_cast<double>(by_gain[i]), slack) << "dgain " << c;
    }
    if (parts.dbias) {
      ASSERT_NEAR(dbias.matrix.Get(0, c), static_cast<double>(by_bias[i]), slack) << "dbias " << c;
    }
  }
}

TEST_P(NormTest, MatchesTheReferenceAtEveryWidth) {
  for (const auto kind : {NORMLAB_LAYERNORM, NORMLAB_RMSNORM}) {
    for (const std::int64_t cols : {8, 100, 768, 1024, 1280, 1600, 2048, 4096}) {
      for (const TypePair types : TypePairs()) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << " width " << cols << " "
                                        << Name(types.stream) << "+" << Name(types.branch));
        Check({kind, 1e-5, 0}, types, 7, cols, 1);
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
          SCOPED_TRACE(testing::Message()
                       << "gain " << parts.gain << " bias " << parts.bias << " dgain "
                       << parts.dgain << " dbias " << parts.dbias << " kind " << kind << " width "
                       << cols << " " << Name(types.stream) << "+" << Name(types.branch));
          Check({kind, 1e-5, 0}, types, 5, cols, 1, parts);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(NormTest, RowsOfAnySizeKeepTheirPrecision) {
  for (const double size : {1e-18, 1e-3, 1e18}) {
    for (const std::int64_t cols : {100, 768}) {
      for (const int pb_relax : {0, 1}) {
        SCOPED_TRACE(testing::Message()
                     << "size " << size << " width " << cols << " pb_relax " << pb_relax);
        Check({NORMLAB_LAYERNORM, 0.0, pb_relax}, {NORMLAB_F32, NORMLAB_F32}, 3, cols, size);
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, NormTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
