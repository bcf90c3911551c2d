#include "tests/kernels/geonorm_cases.h"

#include <cfloat>
#include <cmath>
#include <random>
#include <sstream>

namespace normlab::kernels {
namespace {

using reference::Vector;

long double Length(const Vector& values) {
  long double sum = 0;
  for (const long double entry : values) sum += entry * entry;
  return std::sqrt(sum);
}

// v with |tangent part| = ratio·|x|, and `along`·x beside it.
void ScaleTangent(const Vector& x, Vector& v, double ratio, long double along = 0.5L) {
  long double xv = 0;
  for (std::size_t i = 0; i < x.size(); ++i) xv += x[i] * v[i];
  const long double square = Length(x) * Length(x);
  for (std::size_t i = 0; i < x.size(); ++i) v[i] -= xv / square * x[i];
  const long double factor = ratio * Length(x) / Length(v);
  for (std::size_t i = 0; i < x.size(); ++i) v[i] = factor * v[i] + along * x[i];
}

void Shape(Regime regime, normlab_dtype stream, Vector& x, Vector& v) {
  const auto scale = [](Vector& values, long double by) {
    for (long double& entry : values) entry *= by;
  };
  const bool wide = stream == NORMLAB_F64;
  switch (regime) {
    case Regime::kTinyAngle:
      return scale(v, 1e-6L);
    case Regime::kTinyNorms:
      return scale(x, 1e-18L), scale(v, 1e-18L);
    case Regime::kHugeNorms:
      return scale(x, 1e18L), scale(v, 1e18L);
    case Regime::kHugeBranch:
      return scale(v, wide ? 1e4L : 1e20L);
    case Regime::kTinyBranch:
      return scale(v, 1e-22L);
    case Regime::kSubnormal:
      return scale(x, wide ? 1e-100L : 1e-39L), scale(v, wide ? 1e-100L : 1e-39L);
    case Regime::kBranchZero:
      return scale(v, 0);
    case Regime::kParallel:
    case Regime::kAntiparallel:
      v = x;
      return scale(v, regime == Regime::kParallel ? 2 : -2);
    case Regime::kNearlyParallel:
      for (std::size_t i = 0; i < x.size(); ++i) v[i] = 30 * x[i] + 0.3L * v[i];
      return;
    case Regime::kAngleNearPi:
      return ScaleTangent(x, v, M_PI - 1e-4);
    case Regime::kLargeAngle:
      return ScaleTangent(x, v, 20);
    case Regime::kJustAcross:
      return ScaleTangent(x, v, std::tan(46 * M_PI / 180), -1);
    case Regime::kJustAlong:
      return ScaleTangent(x, v, std::tan(44 * M_PI / 180), 1);
    case Regime::kZeroRow:
      return scale(x, 0);
    case Regime::kRandom:
    case Regime::kCount:
      return;
  }
}

normlab_geonorm_options With(normlab_retraction retraction, double alpha, double scale, double bias,
                             double clamp) {
  return {retraction, alpha, scale, bias, clamp, 0, 0.0};
}

}  // namespace

std::string Name(Regime regime) {
  static const char* const kNames[] = {
      "random",      "tiny_angle",   "tiny_norms",      "huge_norms",
      "huge_branch", "tiny_branch",  "subnormal",       "v=0",
      "parallel",    "antiparallel", "nearly_parallel", "angle_near_pi",
      "large_angle", "just_across",  "just_along",      "x=0"};
  return kNames[static_cast<int>(regime)];
}

std::string Name(const normlab_geonorm_options& o) {
  std::ostringstream text;
  text << "retraction " << o.retraction << " alpha " << o.alpha << " scale " << o.scale << " bias "
       << o.bias << " clamp " << o.angle_clamp;
  if (o.has_fixed_angle != 0) text << " fixed " << o.fixed_angle;
  return text.str();
}

const std::vector<TypePair>& TypePairs() {
  static const std::vector<TypePair> pairs = {{NORMLAB_F32, NORMLAB_F32},
                                              {NORMLAB_F64, NORMLAB_F64},
                                              {NORMLAB_BF16, NORMLAB_BF16},
                                              {NORMLAB_F32, NORMLAB_BF16}};
  return pairs;
}

normlab_geonorm_options PlainOptions() { return With(NORMLAB_EXP, 1, 1, 0, 0); }

const std::vector<normlab_geonorm_options>& OptionVariants() {
  static const std::vector<normlab_geonorm_options> variants = {
      PlainOptions(),
      With(NORMLAB_PROJECTION, 1, 1, 0, 0),
      With(NORMLAB_CAYLEY, 1, 1, 0, 0),
      With(NORMLAB_EXP, 1e-4, 1, 0, 0),
      With(NORMLAB_EXP, 3, 0.5, 0, 0),
      With(NORMLAB_EXP, 1, 1, 0, 0.785398),
      With(NORMLAB_PROJECTION, 0.5, 1, 0, 0.3),
      With(NORMLAB_CAYLEY, 0.5, 1.5, 0.1, 0),
      With(NORMLAB_EXP, 0.5, 1.5, -0.3, 0.785398),
      {NORMLAB_EXP, 1, 1, 0, 0, 1, std::atan(1 / std::sqrt(3.0))}};
  return variants;
}

GeoNormInputs::GeoNormInputs(TypePair types, std::int64_t rows, std::int64_t cols, std::int64_t gap)
    : x(types.stream, rows, cols, gap),
      v(types.branch, rows, cols, gap),
      g(types.stream, rows, cols, gap) {}

GeoNormInputs MakeInputs(TypePair types, std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                         std::int64_t gap) {
  GeoNormInputs inputs(types, rows, cols, gap);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto width = static_cast<std::size_t>(cols);
  Vector x(width), v(width);
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto regime = static_cast<Regime>(r % static_cast<int>(Regime::kCount));
    for (std::size_t c = 0; c < width; ++c) x[c] = normal(random), v[c] = normal(random);
    // Parallel rows must be so after rounding, so they are made of rounded numbers.
    for (std::size_t c = 0; c < width; ++c) {
      inputs.x.Set(r, static_cast<std::int64_t>(c), static_cast<double>(x[c]));
      x[c] = inputs.x.Get(r, static_cast<std::int64_t>(c));
      if (types.branch == NORMLAB_BF16 && types.stream == NORMLAB_F32) {
        inputs.v.Set(r, static_cast<std::int64_t>(c), static_cast<double>(x[c]));
        x[c] = inputs.v.Get(r, static_cast<std::int64_t>(c));
      }
    }
    Shape(regime, types.stream, x, v);
    for (std::int64_t c = 0; c < cols; ++c) {
      inputs.x.Set(r, c, static_cast<double>(x[static_cast<std::size_t>(c)]));
      inputs.v.Set(r, c, static_cast<double>(v[static_cast<std::size_t>(c)]));
      inputs.g.Set(r, c, normal(random));
    }
  }
  return inputs;
}

GeoNormInputs OneRow(const GeoNormInputs& in, std::int64_t row) {
  const std::int64_t cols = in.x.cols();
  GeoNormInputs alone({in.x.dtype(), in.v.dtype()}, 1, cols);
  for (std::int64_t c = 0; c < cols; ++c) {
    alone.x.Set(0, c, in.x.Get(row, c));
    alone.v.Set(0, c, in.v.Get(row, c));
    alone.g.Set(0, c, in.g.Get(row, c));
  }
  return alone;
}

GeoNormOutputs::GeoNormOutputs(const GeoNormInputs& in, std::int64_t gap)
    : y(in.x.dtype(), in.x.rows(), in.x.cols(), gap),
      dx(in.x.dtype(), in.x.rows(), in.x.cols(), gap),
      dv(in.v.dtype(), in.x.rows(), in.x.cols(), gap),
      saved(static_cast<std::size_t>(NORMLAB_GEONORM_SAVED * in.x.rows() + 1)),
      probes(static_cast<std::size_t>(NORMLAB_ROW_PROBES * in.x.rows() + 1)) {}

normlab_geonorm_forward_args GeoNormOutputs::Forward(const GeoNormInputs& in) {
  return {in.x.View(), in.v.View(), y.View(), saved.data(), probes.data(), &zero_rows};
}

normlab_geonorm_backward_args GeoNormOutputs::Backward(const GeoNormInputs& in) {
  return {in.g.View(), in.x.View(), in.v.View(), saved.data(), dx.View(), dv.View(), dangle};
}

double GeoNormOutputs::Probe(std::int64_t row, int which) const {
  const auto at = static_cast<std::size_t>(row * NORMLAB_ROW_PROBES + which);
  if (y.dtype() == NORMLAB_F64) return probes[at];
  return reinterpret_cast<const float*>(probes.data())[at];
}

GeoNormBounds BoundsOf(const normlab_geonorm_options& options, TypePair types, const Vector& x,
                       const Vector& v, const Vector& g) {
  const auto row = reference::GeoNormForward(options, x, v);
  const auto gradients = reference::GeoNormBackward(options, x, v, g);
  const std::size_t width = x.size();
  const double step = std::fabs(options.alpha * options.scale);
  const double radius = static_cast<double>(row.radius), along = std::fabs(double(row.along));
  const double size = static_cast<double>(row.tangent_size), upstream = double(Length(g));
  const double ratio = radius > 0 ? size / radius : 0;
  // T, the factor on the tangent part, at most alpha·scale for adaptive angles without bias.
  const bool vanishes = options.has_fixed_angle == 0 && options.bias == 0;
  const double turn = row.still  ? 0
                      : size > 0 ? std::fabs(std::sin(double(row.theta))) / ratio
                                 : step;
  // How the relative error of |u| and its share in the angle are magnified.
  const double scale = std::fabs(options.scale);
  const double angle = std::fabs(options.alpha) * (scale * ratio + std::fabs(options.bias));
  const double cancelled = size > 0 && !vanishes ? along * radius / size : step * along;
  const double condition = 1 + angle + cancelled;
  // A blocked sum of `width` terms over 4·4 or more lanes, and a dozen roundings after it.
  const double roundings = 12 + static_cast<double>(width) / 16;
  const double arithmetic = roundings * ArithmeticRoundoff(types.stream);
  const double stored = UnitRoundoff(types.stream), stored_v = UnitRoundoff(types.branch);
  const double tiny = types.stream == NORMLAB_F64    ? DBL_MIN
                      : types.branch == NORMLAB_BF16 ? 1e-40
                                                     : 1.5e-45;

  const double dv_size = upstream * (turn + (vanishes || options.bias != 0 ? step : 0));
  const double dx_size = upstream + dv_size * (ratio + along);
  GeoNormBounds bounds;
  for (std::size_t i = 0; i < width; ++i) {
    const double xi = std::fabs(double(x[i])), vi = std::fabs(double(v[i]));
    const double unit = size > 0 ? radius * std::fabs(double(v[i] - row.along * x[i])) / size : 0;
    const double moved = row.still ? 0 : condition * (xi + unit) + turn * (vi + along * xi);
    const double yi = std::fabs(double(row.out[i]));
    bounds.y.push_back(arithmetic * moved + stored * yi * 1.01 + tiny);
    bounds.dx.push_back(arithmetic * condition * dx_size +
                        stored * std::fabs(double(gradients.dx[i])) * 1.01 + tiny);
    bounds.dv.push_back(arithmetic * condition * dv_size +
                        stored_v * std::fabs(double(gradients.dv[i])) * 1.01 + tiny);
  }
  // dL/dtheta is at most |g||x|; the parameters multiply it by these.
  const double by_theta = arithmetic * condition * upstream * radius;
  bounds.dangle[0] = by_theta * (scale * ratio + std::fabs(options.bias));
  bounds.dangle[1] = by_theta * std::fabs(options.alpha) * ratio;
  bounds.dangle[2] = by_theta * std::fabs(options.alpha);
  return bounds;
}

}  // namespace normlab::kernels
