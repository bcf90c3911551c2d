#include "model/geodesic.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

namespace normlab::model {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kParallel = 1e-6;  // ‖u‖/‖v‖ below which a non-vanishing angle has no direction
constexpr int kSeriesTerms = 11;  // reaches fp64 for q < 1

// Σ c_n q^n by Horner's rule.
Tensor Polynomial(const Tensor& q, const double (&c)[kSeriesTerms]) {
  Tensor sum = at::full_like(q, c[kSeriesTerms - 1]);
  for (int n = kSeriesTerms - 2; n >= 0; --n) sum = sum.mul_(q).add_(c[n]);
  return sum;
}

struct Series {
  double c[kSeriesTerms], s[kSeriesTerms], k[kSeriesTerms];
  Series() {
    double factorial = 1;  // (2n)!, signed
    for (int n = 0; n < kSeriesTerms; ++n) {
      if (n > 0) factorial *= -(2.0 * n) * (2.0 * n - 1.0);
      c[n] = 1.0 / factorial;
      s[n] = 1.0 / (factorial * (2.0 * n + 1.0));
      // K = dS/dq; the coefficient of q^n is (n + 1)·s[n + 1].
      const double next = -factorial * (2.0 * n + 1.0) * (2.0 * n + 2.0) * (2.0 * n + 3.0);
      k[n] = (n + 1.0) / next;
    }
  }
};

// A retraction as functions of q: y = C·x + S·w with w = αs·u, and their derivatives by q.
struct Functor {
  Tensor c, s, dc, ds;
};

Functor ExpFunctor(const Tensor& q) {
  static const Series series;
  const Tensor small = q < 1.0;
  const Tensor near = at::where(small, q, at::zeros_like(q));
  const Tensor far = at::where(small, at::ones_like(q), q);
  const Tensor theta = far.sqrt();
  const Tensor far_c = theta.cos();
  const Tensor far_s = theta.sin() / theta;
  const Tensor c = at::where(small, Polynomial(near, series.c), far_c);
  const Tensor s = at::where(small, Polynomial(near, series.s), far_s);
  const Tensor k = at::where(small, Polynomial(near, series.k), (far_c - far_s) / (2.0 * far));
  return {c, s, s * -0.5, k};
}

Functor RetractionFunctor(Retraction retraction, const Tensor& q) {
  switch (retraction) {
    case Retraction::kExp:
      break;
    case Retraction::kProjection: {
      const Tensor c = (1.0 + q).rsqrt();
      const Tensor dc = c.pow(3) * -0.5;
      return {c, c, dc, dc};
    }
    case Retraction::kCayley: {
      const Tensor s = (1.0 + q / 4.0).reciprocal();
      const Tensor square = s.square();
      return {2.0 * s - 1.0, s, square * -0.5, square * -0.25};
    }
  }
  return ExpFunctor(q);
}

// θ and dθ/dt for a step t.
std::pair<Tensor, Tensor> RetractedAngle(Retraction retraction, const Tensor& t) {
  switch (retraction) {
    case Retraction::kExp:
      break;
    case Retraction::kProjection:
      return {t.atan(), (1.0 + t.square()).reciprocal()};
    case Retraction::kCayley:
      return {2.0 * (t / 2.0).atan(), (1.0 + t.square() / 4.0).reciprocal()};
  }
  return {t, at::ones_like(t)};
}

// Everything that one row needs, as columns [rows, 1].
struct RowStats {
  Tensor a, inv_a, beta, u, p;  // ‖x‖², 1/a or 0, β, u [rows, d], ‖u‖²/a
};

RowStats MakeStats(const Tensor& x, const Tensor& v) {
  RowStats row;
  row.a = x.square().sum(-1, true);
  row.inv_a = at::where(row.a == 0, at::zeros_like(row.a), row.a.reciprocal());
  row.beta = (x * v).sum(-1, true) * row.inv_a;
  row.u = v - row.beta * x;
  // From u itself, never ‖v‖² − β²a: that difference loses every digit once v is nearly along x.
  row.p = row.u.square().sum(-1, true) * row.inv_a;
  return row;
}

// y = C·x + W·u; Cp, Wp are their derivatives by p = r². theta_by_step and step_limited serve the
// gradients of s and b.
struct Coefficients {
  Tensor c, w, cp, wp;
  Tensor by_scale_x, by_scale_u;  // dL/ds of a row = by_scale_x·(g·x) + by_scale_u·(g·u)
  Tensor by_bias_x, by_bias_u;    // the same for b
};

Coefficients Vanishing(const AngleSpec& angle, const RowStats& row, const Tensor& scale) {
  const Tensor k = scale.defined() ? scale * angle.alpha : at::full_like(row.p, angle.alpha);
  const Tensor q = k.square() * row.p;
  const Functor f = RetractionFunctor(angle.retraction, q);
  Coefficients out;
  out.c = f.c;
  out.w = k * f.s;
  out.cp = k.square() * f.dc;
  out.wp = k.pow(3) * f.ds;
  if (scale.defined()) {
    out.by_scale_x = angle.alpha * 2.0 * k * row.p * f.dc;
    out.by_scale_u = angle.alpha * (f.s + 2.0 * q * f.ds);
    // dθ/db = (dθ/ds)/r; without a direction there is no angle to change.
    const Tensor r = row.p.sqrt();
    const Tensor inv_r = at::where(r > 0, r.reciprocal(), at::zeros_like(r));
    out.by_bias_x = out.by_scale_x * inv_r;
    out.by_bias_u = out.by_scale_u * inv_r;
  }
  return out;
}

Coefficients FromAngle(const AngleSpec& angle, const RowStats& row, const Tensor& scale,
                       const Tensor& bias) {
  const Tensor r = row.p.sqrt();
  Tensor theta, by_step, open, inner = r, inner_open = at::ones_like(r);
  if (angle.fixed) {
    theta = at::full_like(r, angle.fixed_theta);
    by_step = at::zeros_like(r);
  } else {
    if (angle.clamp > 0) {
      inner = r.clamp_max(angle.clamp);
      inner_open = (r < angle.clamp).to(r.scalar_type());
    }
    Tensor t = (scale.defined() ? inner * scale : inner);
    if (bias.defined()) t = t + bias;
    t = t * angle.alpha;
    open = at::ones_like(t);
    if (angle.clamp > 0) {
      open = (t.abs() < angle.clamp).to(t.scalar_type());
      t = t.clamp(-angle.clamp, angle.clamp);
    }
    const auto [retracted, slope] = RetractedAngle(angle.retraction, t);
    theta = retracted;
    by_step = slope * open * angle.alpha;
  }
  Coefficients out;
  const Tensor sine = theta.sin();
  const Tensor inv_r = at::where(r > 0, r.reciprocal(), at::zeros_like(r));
  Tensor by_r = by_step * inner_open;
  if (scale.defined()) by_r = by_r * scale;
  out.c = theta.cos();
  out.w = sine * inv_r;
  out.cp = sine * by_r * inv_r * -0.5;
  out.wp = (out.c * by_r - out.w) * inv_r.square() * 0.5;
  if (scale.defined()) {
    out.by_bias_x = -sine * by_step;
    out.by_bias_u = out.c * inv_r * by_step;
    out.by_scale_x = out.by_bias_x * inner;
    out.by_scale_u = out.by_bias_u * inner;
  }
  return out;
}

void Choose(const Tensor& mask, Tensor& value, const Tensor& other) {
  if (value.defined()) value = at::where(mask, other, value);
}

void ChooseZero(const Tensor& mask, Tensor& value) {
  if (value.defined()) value = value.masked_fill(mask, 0.0);
}

// Rows whose angle is at a limit or does not vanish with u.
Tensor AngledRows(const AngleSpec& angle, const RowStats& row, const Tensor& scale,
                  const Tensor& bias) {
  Tensor angled = at::zeros_like(row.p, at::kBool);
  if (bias.defined()) angled = angled.logical_or(bias != 0);
  if (angle.clamp > 0) {
    const Tensor r = row.p.sqrt();
    const Tensor t = (scale.defined() ? r * scale : r) * angle.alpha;
    angled = angled.logical_or(r >= angle.clamp).logical_or(t.abs() >= angle.clamp);
  }
  return angled;
}

Coefficients MakeCoefficients(const AngleSpec& angle, const RowStats& row, const Tensor& v,
                              const Tensor& scale, const Tensor& bias) {
  Coefficients out;
  Tensor passed = row.a == 0;
  const bool may_be_angled = angle.fixed || bias.defined() || angle.clamp > 0;
  if (!angle.fixed) out = Vanishing(angle, row, scale);
  if (may_be_angled) {
    const Coefficients angled = FromAngle(angle, row, scale, bias);
    if (angle.fixed) {
      out = angled;
    } else {
      const Tensor mask = AngledRows(angle, row, scale, bias);
      Choose(mask, out.c, angled.c);
      Choose(mask, out.w, angled.w);
      Choose(mask, out.cp, angled.cp);
      Choose(mask, out.wp, angled.wp);
      Choose(mask, out.by_scale_x, angled.by_scale_x);
      Choose(mask, out.by_scale_u, angled.by_scale_u);
      Choose(mask, out.by_bias_x, angled.by_bias_x);
      Choose(mask, out.by_bias_u, angled.by_bias_u);
    }
    const Tensor parallel = row.p * row.a <= kParallel * kParallel * v.square().sum(-1, true);
    if (angle.fixed) passed = passed.logical_or(parallel);
    if (bias.defined()) {
      passed = passed.logical_or(parallel.logical_and(bias != 0));
      ChooseZero(parallel, out.by_bias_x);
      ChooseZero(parallel, out.by_bias_u);
    }
  }
  out.c = out.c.masked_fill(passed, 1.0);
  for (Tensor* value : {&out.w, &out.cp, &out.wp, &out.by_scale_x, &out.by_scale_u, &out.by_bias_x,
                        &out.by_bias_u}) {
    ChooseZero(passed, *value);
  }
  return out;
}

// Autograd wants every input defined: an empty tensor stands for an absent one.
Tensor OrEmpty(const Tensor& tensor, const Tensor& like) {
  return tensor.defined() ? tensor : at::empty({0}, like.options().requires_grad(false));
}
Tensor OrAbsent(const Tensor& tensor) { return tensor.numel() > 0 ? tensor : Tensor(); }

class GeodesicFunction : public torch::autograd::Function<GeodesicFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& v,
                        const Tensor& scale_or_empty, const Tensor& bias_or_empty,
                        const AngleSpec& angle) {
    const Tensor scale = OrAbsent(scale_or_empty);
    const Tensor bias = OrAbsent(bias_or_empty);
    const Tensor rows = x.reshape({-1, x.size(-1)});
    const Tensor branch = v.reshape({-1, x.size(-1)}).to(x.scalar_type());
    const RowStats row = MakeStats(rows, branch);
    const Coefficients k = MakeCoefficients(angle, row, branch, scale, bias);
    ctx->save_for_backward({x, v, scale_or_empty, bias_or_empty});
    ctx->saved_data["alpha"] = angle.alpha;
    ctx->saved_data["clamp"] = angle.clamp;
    ctx->saved_data["retraction"] = static_cast<int64_t>(angle.retraction);
    ctx->saved_data["fixed"] = angle.fixed;
    ctx->saved_data["theta"] = angle.fixed_theta;
    return (k.c * rows + k.w * row.u).view(x.sizes());
  }

  // With γ = ⟨g,x⟩/R² and G = Cp·⟨g,x⟩ + Wp·⟨g,u⟩ (everything depends on u through p = ‖u‖²/R²):
  //   dv = W·(g − γx) + (2G/R²)·u        dx = C·g − Wγ·u − (2pG/R²)·x − β·dv
  static variable_list backward(AutogradContext* ctx, const variable_list& upstream) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &v = saved[1];
    const Tensor scale = OrAbsent(saved[2]), bias = OrAbsent(saved[3]);
    AngleSpec angle;
    angle.alpha = ctx->saved_data["alpha"].toDouble();
    angle.clamp = ctx->saved_data["clamp"].toDouble();
    angle.retraction = static_cast<Retraction>(ctx->saved_data["retraction"].toInt());
    angle.fixed = ctx->saved_data["fixed"].toBool();
    angle.fixed_theta = ctx->saved_data["theta"].toDouble();

    const int64_t width = x.size(-1);
    const Tensor rows = x.reshape({-1, width});
    const Tensor branch = v.reshape({-1, width}).to(x.scalar_type());
    const Tensor g = upstream[0].reshape({-1, width});
    const RowStats row = MakeStats(rows, branch);
    const Coefficients k = MakeCoefficients(angle, row, branch, scale, bias);
    const Tensor gx = (g * rows).sum(-1, true);
    const Tensor gu = (g * row.u).sum(-1, true);
    const Tensor gamma = gx * row.inv_a;
    const Tensor slope = 2.0 * row.inv_a * (k.cp * gx + k.wp * gu);
    const Tensor dv = k.w * (g - gamma * rows) + slope * row.u;
    const Tensor dx = k.c * g - k.w * gamma * row.u - row.p * slope * rows - row.beta * dv;
    Tensor dscale, dbias;
    if (scale.defined()) dscale = (k.by_scale_x * gx + k.by_scale_u * gu).sum().view({1});
    if (bias.defined()) dbias = (k.by_bias_x * gx + k.by_bias_u * gu).sum().view({1});
    return {dx.view(x.sizes()), dv.view(v.sizes()).to(v.scalar_type()), dscale, dbias, Tensor()};
  }
};

}  // namespace

at::Tensor ComposedGeodesic(const AngleSpec& angle, const at::Tensor& x, const at::Tensor& v,
                            const at::Tensor& scale, const at::Tensor& bias) {
  return GeodesicFunction::apply(x, v, OrEmpty(scale, x), OrEmpty(bias, x), angle);
}

at::Tensor RawAngle(const AngleSpec& angle, const at::Tensor& x, const at::Tensor& v,
                    const at::Tensor& scale, const at::Tensor& bias) {
  const at::NoGradGuard no_grad;
  const RowStats row =
      MakeStats(x.reshape({-1, x.size(-1)}), v.reshape({-1, x.size(-1)}).to(x.scalar_type()));
  Tensor theta = row.p.sqrt();
  if (scale.defined()) theta = theta * scale;
  if (bias.defined()) theta = theta + bias;
  return (theta * angle.alpha).squeeze(-1).view(x.sizes().slice(0, x.dim() - 1));
}

}  // namespace normlab::model
