#include "tests/kernels/norm_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/kernels/row_checks.h"

namespace normlab::kernels {
namespace {

using reference::Vector;

void Fill(HostMatrix& matrix, std::mt19937_64& random, double size, double shift) {
  std::normal_distribution<double> normal;
  for (std::int64_t r = 0; r < matrix.rows(); ++r) {
    for (std::int64_t c = 0; c < matrix.cols(); ++c) {
      matrix.Set(r, c, size * (normal(random) + shift));
    }
  }
}

// The column sums of the reference, and how large what they are made of is.
struct ColumnSums {
  explicit ColumnSums(std::size_t width) : gain(width), bias(width), sizes(width) {}
  Vector gain, bias, sizes;
};

void ExpectRowMatches(const NormCase& c, std::int64_t r, double roundings, std::int64_t times,
                      ColumnSums* sums) {
  const Vector upstream = c.g.Row(r), gains = c.gain.RowIf(c.parts.gain);
  const Vector biases = c.bias.RowIf(c.parts.bias);
  const auto row = reference::NormForward(c.options, c.x.Row(r), gains, biases);
  const Vector back = reference::NormBackward(c.options, c.x.Row(r), gains, upstream);
  const auto size = [](const Vector& values, std::size_t i, double otherwise) {
    return values.empty() ? otherwise : std::fabs(static_cast<double>(values[i]));
  };
  const std::size_t width = upstream.size();
  double square = 0;
  for (std::size_t i = 0; i < width; ++i) {
    square += std::pow(size(upstream, i, 0) * size(gains, i, 1), 2);
  }
  const double steep = std::sqrt(square) * static_cast<double>(row.rstd);
  // x_i - mean is as good as the mean.
  const double cancelled = std::fabs(static_cast<double>(row.mean * row.rstd));
  const double stored = 1.01 * UnitRoundoff(c.types.stream);
  const double stored_y = 1.01 * UnitRoundoff(c.types.branch);
  const double tiny = c.types.branch == NORMLAB_BF16 ? 1e-40 : 1e-44;
  std::vector<double> bounds(width), dx_bounds(width);
  for (std::size_t i = 0; i < width; ++i) {
    const double unit = (1 + cancelled) * (1 + size(row.unit, i, 0));
    bounds[i] = roundings * (unit * size(gains, i, 1) + size(biases, i, 0)) +
                stored_y * size(row.out, i, 0) + tiny;
    dx_bounds[i] = roundings * steep * unit + stored * size(back, i, 0) + tiny;
    sums->gain[i] += times * upstream[i] * row.unit[i];
    sums->bias[i] += times * upstream[i];
    sums->sizes[i] += static_cast<double>(times) * size(upstream, i, 0) * unit;
  }
  ExpectRow(c.y, r, row.out, bounds, "y");
  ExpectRow(c.dx, r, back, dx_bounds, "dx");
}

}  // namespace

NormCase::NormCase(const normlab_norm_options& the_options, TypePair the_types, std::int64_t rows,
                   std::int64_t cols, double size, Parts the_parts)
    : options(the_options),
      types(the_types),
      parts(the_parts),
      x(types.stream, rows, cols),
      y(types.branch, rows, cols),
      g(types.branch, rows, cols),
      dx(types.stream, rows, cols),
      gain(types.stream, cols),
      bias(types.stream, cols),
      dgain(types.stream, cols),
      dbias(types.stream, cols),
      saved(static_cast<std::size_t>(2 * rows + 1)) {
  std::mt19937_64 random(5);
  Fill(x, random, size, 0.5);
  Fill(g, random, 1, 0);
  Fill(gain.matrix, random, 1, 1);
  Fill(bias.matrix, random, 1, 0);
}
std::string NormCase::name() const {
  const auto has = [](bool present, const char* what) { return present ? what : ""; };
  return std::string(options.kind == NORMLAB_LAYERNORM ? "LayerNorm" : "RMSNorm") + " eps " +
         std::to_string(options.eps) + has(options.pb_relax != 0, " pb_relax") + " width " +
         std::to_string(x.cols()) + " " + Name(types.stream) + "+" + Name(types.branch) +
         has(parts.gain, " gain") + has(parts.bias, " bias") + has(parts.dgain, " dgain") +
         has(parts.dbias, " dbias");
}

void RunNorm(Backend& backend, NormCase& c) {
  ASSERT_EQ(
      backend.NormForward(c.options, {c.x.View(), c.gain.DataIf(c.parts.gain),
                                      c.bias.DataIf(c.parts.bias), c.y.View(), c.saved.data()}),
      NORMLAB_OK)
      << normlab_last_error();
  ASSERT_EQ(
      backend.NormBackward(c.options, {c.g.View(), c.x.View(), c.gain.DataIf(c.parts.gain),
                                       c.saved.data(), c.dx.View(), c.dgain.DataIf(c.parts.dgain),
                                       c.dbias.DataIf(c.parts.dbias), nullptr}),
      NORMLAB_OK)
      << normlab_last_error();
}

void ExpectMatches(const NormCase& c, std::int64_t period) {
  period = std::min(period, c.x.rows());
  ASSERT_TRUE(c.y.Repeats(period) && c.dx.Repeats(period));
  const std::int64_t cols = c.x.cols();
  const double roundings =
      (12 + static_cast<double>(cols) / 16) * ArithmeticRoundoff(c.types.stream);
  ColumnSums sums(static_cast<std::size_t>(cols));
  for (std::int64_t r = 0; r < period; ++r) {
    SCOPED_TRACE(testing::Message() << "row " << r);
    ExpectRowMatches(c, r, roundings, TimesOf(r, period, c.x.rows()), &sums);
    if (testing::Test::HasFatalFailure()) return;
  }
  const double roundings_of_sum =
      2 * roundings + RowsOfAPartial(c.x.rows()) * ArithmeticRoundoff(c.types.stream);
  std::vector<double> slack;
  for (const long double size : sums.sizes) {
    slack.push_back(roundings_of_sum * static_cast<double>(size));
  }
  if (c.parts.dgain) ExpectRow(c.dgain.matrix, 0, sums.gain, slack, "dgain");
  if (c.parts.dbias) ExpectRow(c.dbias.matrix, 0, sums.bias, slack, "dbias");
}

}  // namespace normlab::kernels
