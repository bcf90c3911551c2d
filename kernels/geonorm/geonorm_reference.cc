#include "kernels/geonorm/geonorm_reference.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace normlab::kernels::reference {
namespace {

using Number = long double;

Number Dot(const Vector& a, const Vector& b) {
  Number sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The angle and how it moves with |v|/|x|, alpha, scale and bias.
struct Angle {
  Number theta = 0;
  Number by_ratio = 0, by_alpha = 0, by_scale = 0, by_bias = 0;
};

Number Retract(normlab_retraction retraction, Number theta, Number* slope) {
  switch (retraction) {
    case NORMLAB_PROJECTION:
      *slope = 1 / (1 + theta * theta);
      return std::atan(theta);
    case NORMLAB_CAYLEY:
      *slope = 1 / (1 + theta * theta / 4);
      return 2 * std::atan(theta / 2);
    case NORMLAB_EXP:
      break;
  }
  *slope = 1;
  return theta;
}

Angle AngleOf(const normlab_geonorm_options& options, Number ratio) {
  Angle angle;
  if (options.has_fixed_angle != 0) {
    angle.theta = options.fixed_angle;
    return angle;
  }
  const Number alpha = options.alpha, scale = options.scale, bias = options.bias;
  const Number clamp = options.angle_clamp > 0 ? Number(options.angle_clamp)
                                               : std::numeric_limits<Number>::infinity();
  const Number limited = std::fmin(ratio, clamp);
  const Number wanted = (limited * scale + bias) * alpha;
  const Number before = std::fmax(-clamp, std::fmin(wanted, clamp));
  Number slope = 0;
  angle.theta = Retract(options.retraction, before, &slope);
  if (before != wanted) return angle;
  angle.by_ratio = ratio <= clamp ? slope * scale * alpha : Number(0);
  angle.by_alpha = slope * (limited * scale + bias);
  angle.by_scale = slope * limited * alpha;
  angle.by_bias = slope * alpha;
  return angle;
}

bool VanishesWithTangent(const normlab_geonorm_options& options) {
  return options.has_fixed_angle == 0 && options.bias == 0;
}

// c, v and the sizes of a row; what both directions begin with.
struct Parts {
  Number square = 0, radius = 0, along = 0, size = 0;
  Vector v;
  bool still = false;
};

Parts Split(const normlab_geonorm_options& options, const Vector& x, const Vector& branch) {
  Parts parts;
  parts.square = Dot(x, x);
  parts.radius = std::sqrt(parts.square);
  parts.v = branch;
  if (parts.square == 0) {
    parts.still = true;
    return parts;
  }
  parts.along = Dot(x, branch) / parts.square;
  for (std::size_t i = 0; i < x.size(); ++i) parts.v[i] -= parts.along * x[i];
  parts.size = std::sqrt(Dot(parts.v, parts.v));
  parts.still =
      !VanishesWithTangent(options) && parts.size <= Number(1e-6L) * std::sqrt(Dot(branch, branch));
  return parts;
}

}  // namespace

GeoNormRow GeoNormForward(const normlab_geonorm_options& options, const Vector& x,
                          const Vector& branch) {
  const Parts parts = Split(options, x, branch);
  GeoNormRow row{parts.radius, parts.along, parts.size, 0, parts.still, x};
  if (parts.still || parts.size == 0) return row;
  row.theta = AngleOf(options, parts.size / parts.radius).theta;
  const Number cosine = std::cos(row.theta), sine = std::sin(row.theta);
  for (std::size_t i = 0; i < x.size(); ++i) {
    row.out[i] = cosine * x[i] + parts.radius * sine * (parts.v[i] / parts.size);
  }
  return row;
}

GeoNormGradients GeoNormBackward(const normlab_geonorm_options& options, const Vector& x,
                                 const Vector& branch, const Vector& upstream) {
  const std::size_t width = x.size();
  const Parts parts = Split(options, x, branch);
  GeoNormGradients result;
  result.dx = upstream;
  result.dv.assign(width, 0);
  if (parts.still) return result;

  // Adjoints of v and c, and of the radius; then v = branch - c·x and c = <x,branch>/R^2.
  Vector by_v(width, 0);
  Number by_radius = 0;
  if (parts.size == 0) {  // x' = x + alpha·scale·v to first order
    for (std::size_t i = 0; i < width; ++i) {
      by_v[i] = Number(options.alpha) * Number(options.scale) * upstream[i];
    }
  } else {
    const Angle angle = AngleOf(options, parts.size / parts.radius);
    const Number cosine = std::cos(angle.theta), sine = std::sin(angle.theta);
    Vector unit = parts.v;
    for (Number& entry : unit) entry /= parts.size;
    const Number along_unit = Dot(upstream, unit);
    const Number by_theta = parts.radius * cosine * along_unit - sine * Dot(upstream, x);
    result.dalpha = by_theta * angle.by_alpha;
    result.dscale = by_theta * angle.by_scale;
    result.dbias = by_theta * angle.by_bias;
    const Number by_ratio = by_theta * angle.by_ratio;
    by_radius = sine * along_unit - by_ratio * parts.size / parts.square;
    for (std::size_t i = 0; i < width; ++i) {
      const Number across = upstream[i] - unit[i] * along_unit;
      by_v[i] = parts.radius * sine * across / parts.size + unit[i] * by_ratio / parts.radius;
      result.dx[i] = cosine * upstream[i];
    }
  }
  const Number by_along = -Dot(by_v, x);
  by_radius += -2 * parts.along * by_along / parts.radius;
  for (std::size_t i = 0; i < width; ++i) {
    result.dx[i] += -parts.along * by_v[i] + by_along * branch[i] / parts.square +
                    by_radius * x[i] / parts.radius;
    result.dv[i] = by_v[i] + by_along * x[i] / parts.square;
  }
  return result;
}

}  // namespace normlab::kernels::reference
