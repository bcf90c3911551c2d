#include "kernels/residual/residual_reference.h"

#include <cstddef>

namespace normlab::kernels::reference {
namespace {

long double FactorAt(const ResidualForm& form, std::size_t i) {
  return form.columns.empty() ? form.b : form.b * form.columns[i];
}

// dL/d(input) of a norm, its parameters' shares left in by_gain and by_bias.
Vector Through(const ResidualStage& stage, const Vector& input, const Vector& upstream,
               Vector* by_gain, Vector* by_bias) {
  const NormRow row = NormForward(stage.options, input, stage.gain, stage.bias);
  *by_bias = upstream;
  *by_gain = upstream;
  for (std::size_t i = 0; i < upstream.size(); ++i) (*by_gain)[i] *= row.unit[i];
  return NormBackward(stage.options, input, stage.gain, upstream);
}

}  // namespace

ResidualRow ResidualForward(const ResidualForm& form, const Vector& x, const Vector& g) {
  ResidualRow row;
  row.h = g;
  if (form.branch.present) {
    row.branch = NormForward(form.branch.options, g, form.branch.gain, form.branch.bias);
    row.h = row.branch.out;
  }
  row.sum = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    row.sum[i] = form.a * x[i] + FactorAt(form, i) * row.h[i];
  }
  row.stream = row.sum;
  if (form.post.present) {
    row.post = NormForward(form.post.options, row.sum, form.post.gain, form.post.bias);
    row.stream = row.post.out;
  }
  return row;
}

ResidualGradients ResidualBackward(const ResidualForm& form, const Vector& x, const Vector& g,
                                   const Vector& stream, const Vector& dstream,
                                   const Vector& dnext) {
  const ResidualRow row = ResidualForward(form, x, g);
  ResidualGradients result;
  Vector upstream = dstream.empty() ? Vector(x.size(), 0) : dstream;
  if (form.next.present && !dnext.empty()) {
    const Vector through =
        Through(form.next, stream, dnext, &result.by_gain[2], &result.by_bias[2]);
    for (std::size_t i = 0; i < x.size(); ++i) upstream[i] += through[i];
  }
  result.through_next = upstream;
  if (form.post.present) {
    upstream = Through(form.post, row.sum, upstream, &result.by_gain[1], &result.by_bias[1]);
  }
  result.by_sum = upstream;
  result.dx = result.by_branch = result.by_columns = upstream;
  for (std::size_t i = 0; i < x.size(); ++i) {
    result.dx[i] *= form.a;
    result.by_branch[i] *= FactorAt(form, i);
    result.by_columns[i] *= form.b * row.h[i];
    result.db += upstream[i] * row.h[i] * (form.columns.empty() ? 1.0L : form.columns[i]);
  }
  result.dg = result.by_branch;
  if (form.branch.present) {
    result.dg = Through(form.branch, g, result.by_branch, &result.by_gain[0], &result.by_bias[0]);
  }
  return result;
}

}  // namespace normlab::kernels::reference
