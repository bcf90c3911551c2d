#include "tests/kernels/geonorm_cases.h"

#include <cfloat>
#include <cmath>
#include <random>
#include <sstream>

namespace normlab::kernels {

using reference::Vector;

long double Dot(const Vector& one, const Vector& other) {
  long double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += one[i] * other[i];
  return sum;
}
long double Length(const Vector& values) { return std::sqrt(Dot(values, values)); }

namespace {

// v with |tangent part| = ratio·|x|, and `along`·x beside it.
void ScaleTangent(const Vector& x, Vector& v, double ratio, long double along = 0.5L) {
  const long double xv = Dot(x, v);
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
  static const std::vector<TypePair> pairs = {kF32, kF64, kBf16, kMixed};
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
  return RealAt(probes, row * NORMLAB_ROW_PROBES + which);
}
double GeoNormOutputs::Saved(std::int64_t row, int which) const {
  return RealAt(saved, row * NORMLAB_GEONORM_SAVED + which);
}
double GeoNormOutputs::RealAt(const std::vector<double>& reals, std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  if (y.dtype() == NORMLAB_F64) return reals[at];
  return reinterpret_cast<const float*>(reals.data())[at];
}

namespace {

// What the bounds of a row are made of.
struct RowSizes {
  double step, scale, alpha, bias;   // of the options, as magnitudes; step = alpha·scale
  double radius, beta, size, ratio;  // |x|, |<x,v>|/|x|^2, |u|, |u|/|x|
  double t;                          // |T|, the factor on u
  double turn;                       // with how far it moves with the angle
  double bend;                       // |2(dL/dp)/a|·|x| is at most bend·|g|
  double condition;  // how the relative error of |u|, and its share in the angle, are magnified
};

RowSizes SizesOf(const normlab_geonorm_options& options, const reference::GeoNormRow& row) {
  RowSizes s{};
  s.alpha = std::fabs(options.alpha);
  s.scale = std::fabs(options.scale);
  s.bias = std::fabs(options.bias);
  s.step = s.alpha * s.scale;
  s.radius = static_cast<double>(row.radius);
  s.beta = std::fabs(static_cast<double>(row.along));
  s.size = static_cast<double>(row.tangent_size);
  s.ratio = s.radius > 0 ? s.size / s.radius : 0;
  const bool vanishes = options.has_fixed_angle == 0 && options.bias == 0;
  if (!row.still) {
    // k = d(angle)/d(|u|/|x|) is at most this.
    const double k = options.has_fixed_angle != 0 ? 0 : s.step;
    s.t = s.size > 0 ? std::fabs(std::sin(double(row.theta))) / s.ratio : s.step;
    s.turn = s.t + k;
    // |k·sin| from <g,x> and |k·cos - T| from <g,u>, over |u|/|x|; near u = 0, angles that vanish
    // there leave no more than 2·step^2.
    const bool near_zero = vanishes && s.step * s.ratio < 1 && s.t >= 0.5 * s.step;
    s.bend = near_zero ? 2 * s.step * s.step : (2 * k + s.t) / s.ratio;
  }
  const double angle = s.alpha * (s.scale * s.ratio + s.bias);
  s.condition = 1 + angle + (s.size > 0 && !vanishes ? s.beta / s.ratio : s.step * s.beta);
  return s;
}

// How far dx and dv of column i may be off, in units of the arithmetic's error, storing apart. The
// sums <g,x> and <g,u> are as good as |g||x| and |g||u|, however small they are, so each column has
// |g|·|x_i|/|x| and |g|·|u_i|/|u| beside its own |g_i|; beta is as good as |v|/|x|.
struct GradientSizes {
  double dx, dv;
};
GradientSizes GradientsAt(const RowSizes& s, double g, double x, double u, double upstream) {
  const double unit = s.radius > 0 ? x / s.radius : 0;
  const double across = s.radius > 0 ? u / s.radius : 0;
  const double loose_u = across + (s.ratio + 2 * s.beta) * unit;
  const double dv = s.turn * g + upstream * (s.turn * unit + s.bend * loose_u);
  const double dx = g + upstream * (s.turn * loose_u + s.ratio * s.ratio * s.bend * unit);
  return {dx + s.beta * dv, dv};
}

}  // namespace

namespace {

// Where |u| is `parallel` times shorter than the part of v along x, which goes into dx as beta·dv.
// u_i = v_i - beta·x_i is off by a rounding of beta·x_i, and |u| with it, and by the square of
// beta's error. Elsewhere dx may be much shorter than what it is made of.
double DxLengthBound(const RowSizes& s, TypePair types, double arithmetic, double length) {
  const double parallel = s.ratio > 0 ? s.beta / s.ratio : 0;
  if (parallel < 10 || parallel > 1000) return HUGE_VAL;
  const double one = ArithmeticRoundoff(types.stream);
  const double relative = arithmetic + 2 * one * parallel + std::pow(arithmetic * parallel, 2);
  return (2 * relative + 1.01 * UnitRoundoff(types.stream)) * length;
}

}  // namespace

GeoNormBounds BoundsOf(const normlab_geonorm_options& options, TypePair types, const Vector& x,
                       const Vector& v, const Vector& g) {
  const auto row = reference::GeoNormForward(options, x, v);
  const auto gradients = reference::GeoNormBackward(options, x, v, g);
  const RowSizes s = SizesOf(options, row);
  const std::size_t width = x.size();
  const double upstream = static_cast<double>(Length(g));
  // A blocked sum of `width` terms over 4·4 or more lanes, and a dozen roundings after it.
  const double roundings = 12 + static_cast<double>(width) / 16;
  const double arithmetic = roundings * ArithmeticRoundoff(types.stream);
  const double stored = 1.01 * UnitRoundoff(types.stream);
  const double stored_v = 1.01 * UnitRoundoff(types.branch);
  const double tiny = types.stream == NORMLAB_F64    ? DBL_MIN
                      : types.branch == NORMLAB_BF16 ? 1e-40
                                                     : 1.5e-45;
  const auto at = [](const Vector& values, std::size_t i) {
    return std::fabs(static_cast<double>(values[i]));
  };
  GeoNormBounds bounds;
  for (std::size_t i = 0; i < width; ++i) {
    const double u = std::fabs(static_cast<double>(v[i] - row.along * x[i]));
    const double unit = s.size > 0 ? s.radius * u / s.size : 0;
    const double moved =
        row.still ? 0 : s.condition * (at(x, i) + unit) + s.t * (at(v, i) + s.beta * at(x, i));
    const GradientSizes sizes = GradientsAt(s, at(g, i), at(x, i), u, upstream);
    bounds.y.push_back(arithmetic * moved + stored * at(row.out, i) + tiny);
    bounds.dx.push_back(arithmetic * s.condition * sizes.dx + stored * at(gradients.dx, i) + tiny);
    bounds.dv.push_back(arithmetic * s.condition * sizes.dv + stored_v * at(gradients.dv, i) +
                        tiny);
  }
  const double v_size = std::hypot(s.beta * s.radius, s.size);
  bounds.radius = (arithmetic * (2 + 2 * s.t * s.beta) + stored) * s.radius +
                  tiny * std::sqrt(static_cast<double>(width));
  bounds.across = arithmetic * 3 * upstream * (s.t * s.radius + s.bend * v_size) +
                  stored_v * s.radius * static_cast<double>(Length(gradients.dv)) +
                  tiny * s.radius * std::sqrt(static_cast<double>(width));
  bounds.dx_length = DxLengthBound(s, types, arithmetic, static_cast<double>(Length(gradients.dx)));
  // dL/dtheta is at most |g||x|; the parameters multiply it by these.
  const double by_theta = arithmetic * s.condition * upstream * s.radius;
  bounds.dangle = {by_theta * (s.scale * s.ratio + s.bias), by_theta * s.alpha * s.ratio,
                   by_theta * s.alpha};
  return bounds;
}

}  // namespace normlab::kernels
