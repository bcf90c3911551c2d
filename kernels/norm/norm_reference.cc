#include "kernels/norm/norm_reference.h"

#include <cmath>
#include <cstddef>

namespace normlab::kernels::reference {
namespace {

using Number = long double;

// CogView's PB-relax: the number that the row is divided by before it is normalised.
Number Divisor(const normlab_norm_options& options, const Vector& x) {
  if (options.pb_relax == 0) return 1;
  Number largest = 0;
  for (const Number entry : x) largest = std::fmax(largest, std::fabs(entry));
  return largest > 0 ? largest / 8 : Number(1);
}

}  // namespace

NormRow NormForward(const normlab_norm_options& options, const Vector& x, const Vector& gain,
                    const Vector& bias) {
  const Number width = static_cast<Number>(x.size());
  const Number divisor = Divisor(options, x);
  Vector relaxed = x;
  for (Number& entry : relaxed) entry /= divisor;

  Number mean = 0;
  if (options.kind == NORMLAB_LAYERNORM) {
    for (const Number entry : relaxed) mean += entry / width;
  }
  Number variance = 0;
  for (const Number entry : relaxed) variance += (entry - mean) * (entry - mean) / width;
  const Number rstd = 1 / std::sqrt(variance + Number(options.eps));

  // In terms of x itself: the mean times the divisor, rstd over it.
  NormRow row{mean * divisor, rstd / divisor, relaxed, {}};
  for (Number& entry : row.unit) entry = (entry - mean) * rstd;
  row.out = row.unit;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!gain.empty()) row.out[i] *= gain[i];
    if (!bias.empty()) row.out[i] += bias[i];
  }
  return row;
}

Vector NormBackward(const normlab_norm_options& options, const Vector& x, const Vector& gain,
                    const Vector& upstream) {
  const std::size_t width = x.size();
  const NormRow row = NormForward(options, x, gain, {});
  Vector by_unit = upstream;
  Number mean = 0, along = 0;
  for (std::size_t i = 0; i < width; ++i) {
    if (!gain.empty()) by_unit[i] *= gain[i];
    mean += by_unit[i] / static_cast<Number>(width);
    along += by_unit[i] * row.unit[i] / static_cast<Number>(width);
  }
  if (options.kind == NORMLAB_RMSNORM) mean = 0;
  Vector dx(width);
  for (std::size_t i = 0; i < width; ++i) {
    dx[i] = row.rstd * (by_unit[i] - mean - row.unit[i] * along);
  }
  return dx;
}

}  // namespace normlab::kernels::reference
