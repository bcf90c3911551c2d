// Error bounds of residual updates: each stage adds its own roundings, and passes on the errors of
// what it is given times its steepness.
#include <algorithm>
#include <cmath>

#include "tests/kernels/residual_cases.h"

namespace normlab::kernels {
namespace {

using reference::NormRow;
using reference::ResidualForm;
using reference::ResidualStage;
using reference::Vector;
using Errors = std::vector<double>;

double At(const Vector& values, std::size_t i) {
  return values.empty() ? 1.0 : std::fabs(static_cast<double>(values[i]));
}

double Mean(std::size_t count, auto value) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += value(i);
  return sum / static_cast<double>(count);
}

struct Roundoff {
  explicit Roundoff(TypePair types, std::size_t width)
      : one(ArithmeticRoundoff(types.stream)),
        sum((12 + static_cast<double>(width) / 16) * one),
        stream(UnitRoundoff(types.stream) * 1.01),
        branch(UnitRoundoff(types.branch) * 1.01),
        tiny(types.branch == NORMLAB_BF16 ? 1e-40 : 1e-44) {}
  double one, sum;        // of an operation, and of a sum over the row
  double stream, branch;  // of storing
  double tiny;            // of storing subnormals
};

// Of the normalised row: its own roundings (the mean cancels), and those of what it is given.
Errors UnitErrors(const Roundoff& by, const NormRow& row, const Errors& input) {
  const double rstd = static_cast<double>(row.rstd);
  const double cancelled = std::fabs(static_cast<double>(row.mean)) * rstd;
  const std::size_t width = row.unit.size();
  const double level = Mean(width, [&](std::size_t i) { return input[i]; });
  const double along = Mean(width, [&](std::size_t i) { return input[i] * At(row.unit, i); });
  Errors result(width);
  for (std::size_t i = 0; i < width; ++i) {
    const double unit = At(row.unit, i);
    result[i] = by.sum * (1 + cancelled + unit) + rstd * (input[i] + level + unit * along);
  }
  return result;
}

Errors OutputErrors(const Roundoff& by, const ResidualStage& stage, const NormRow& row,
                    const Errors& units) {
  Errors result(units.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    const double bias = stage.bias.empty() ? 0 : At(stage.bias, i);
    result[i] = At(stage.gain, i) * (units[i] + by.one * At(row.unit, i)) + by.one * bias;
  }
  return result;
}

// Of dL/d(input), given those of dL/d(output).
Errors GradientErrors(const Roundoff& by, const ResidualStage& stage, const NormRow& row,
                      const Errors& units, const Vector& upstream, const Errors& given) {
  const std::size_t width = upstream.size();
  const double rstd = static_cast<double>(row.rstd);
  const auto weight = [&](std::size_t i) {
    return std::fabs(static_cast<double>(upstream[i])) * At(stage.gain, i);
  };
  const auto error = [&](std::size_t i) { return given[i] * At(stage.gain, i); };
  const auto unit = [&](std::size_t i) { return At(row.unit, i); };
  const double weights = Mean(width, weight);
  const double level = Mean(width, error);
  const double along = Mean(width, [&](std::size_t i) { return error(i) * unit(i); });
  const double weight_along = Mean(width, [&](std::size_t i) { return weight(i) * unit(i); });
  const double by_units = Mean(width, [&](std::size_t i) { return weight(i) * units[i]; });
  const double worst = *std::max_element(units.begin(), units.end());
  Errors result(width);
  for (std::size_t i = 0; i < width; ++i) {
    const double size = weight(i) + weights + unit(i) * weight_along;
    result[i] = rstd * (error(i) + level + unit(i) * along + units[i] * weight_along +
                        unit(i) * by_units + (by.sum + worst) * size);
  }
  return result;
}

void ParameterErrors(const Roundoff& by, const NormRow& row, const Errors& units,
                     const Vector& upstream, const Errors& given, Errors* gain, Errors* bias) {
  for (std::size_t i = 0; i < upstream.size(); ++i) {
    const double size = std::fabs(static_cast<double>(upstream[i]));
    gain->push_back(given[i] * At(row.unit, i) + size * (units[i] + by.sum * At(row.unit, i)));
    bias->push_back(given[i] + by.sum * size);
  }
}

}  // namespace

std::vector<double> NextBounds(const ResidualForm& form, TypePair types, const NormRow& row) {
  const Roundoff by(types, row.unit.size());
  const Errors none(row.unit.size(), 0);
  Errors result = OutputErrors(by, form.next, row, UnitErrors(by, row, none));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] += by.branch * At(row.out, i) + by.tiny;
  }
  return result;
}

ResidualBounds ResidualBoundsOf(const ResidualForm& form, TypePair types, const Vector& x,
                                const Vector& stream, const Vector& dnext,
                                const reference::ResidualRow& row,
                                const reference::ResidualGradients& back) {
  const std::size_t width = x.size();
  const Roundoff by(types, width);
  const double a = std::fabs(double(form.a)), b = std::fabs(double(form.b));
  const Errors none(width, 0);
  ResidualBounds bounds;

  Errors h = none, branch_units;
  if (form.branch.present) {
    branch_units = UnitErrors(by, row.branch, none);
    h = OutputErrors(by, form.branch, row.branch, branch_units);
  }
  Errors sum(width);
  for (std::size_t i = 0; i < width; ++i) {
    const double factor = b * At(form.columns, i);
    sum[i] = 4 * by.one * (a * At(x, i) + factor * At(row.h, i)) + factor * h[i] + 4e-45;
  }
  Errors post_units;
  bounds.stream = sum;
  if (form.post.present) {
    post_units = UnitErrors(by, row.post, sum);
    bounds.stream = OutputErrors(by, form.post, row.post, post_units);
  }
  for (std::size_t i = 0; i < width; ++i) {
    bounds.stream[i] += by.stream * At(row.stream, i) + by.tiny;
  }

  Errors upstream = none;
  if (!dnext.empty()) {
    const NormRow next =
        reference::NormForward(form.next.options, stream, form.next.gain, form.next.bias);
    const Errors units = UnitErrors(by, next, none);
    upstream = GradientErrors(by, form.next, next, units, dnext, none);
    ParameterErrors(by, next, units, dnext, none, &bounds.gain[2], &bounds.bias[2]);
    for (std::size_t i = 0; i < width; ++i) upstream[i] += by.one * At(back.through_next, i);
  }
  if (form.post.present) {
    ParameterErrors(by, row.post, post_units, back.through_next, upstream, &bounds.gain[1],
                    &bounds.bias[1]);
    upstream = GradientErrors(by, form.post, row.post, post_units, back.through_next, upstream);
  }
  Errors by_branch(width);
  for (std::size_t i = 0; i < width; ++i) {
    const double factor = b * At(form.columns, i), size = At(back.by_sum, i);
    bounds.dx.push_back(a * upstream[i] + (by.one + by.stream) * At(back.dx, i) + by.tiny);
    by_branch[i] = factor * upstream[i] + 3 * by.one * At(back.by_branch, i);
    const double part = upstream[i] * At(row.h, i) + size * (h[i] + by.sum * At(row.h, i));
    bounds.columns.push_back(b * part);
    bounds.db += part * At(form.columns, i);
  }
  Errors dg = by_branch;
  if (form.branch.present) {
    ParameterErrors(by, row.branch, branch_units, back.by_branch, by_branch, &bounds.gain[0],
                    &bounds.bias[0]);
    dg = GradientErrors(by, form.branch, row.branch, branch_units, back.by_branch, by_branch);
  }
  for (std::size_t i = 0; i < width; ++i) {
    bounds.dg.push_back(dg[i] + by.branch * At(back.dg, i) + by.tiny);
  }
  return bounds;
}

}  // namespace normlab::kernels
