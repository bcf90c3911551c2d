// GeoNorm on the CPU (GeoNorm, arXiv 2601.22095; formulas in geonorm_row.h). Compiled once per
// instruction set, with NORMLAB_ISA naming it.
//
// Rows go through in small blocks: sums of all rows of a block, then their scalars, then the
// outputs; a block stays in the L1 cache between the passes, so memory sees each input once.
// Sums are in fp32 for fp32 and bf16 storage. A row whose sums leave the safe range of fp32 (huge,
// tiny, zero or not finite) is worked out again in fp64, alone.
#include "kernels/geonorm/geonorm_cpu.h"

#include "kernels/common/row_access.h"
#include "kernels/geonorm/geonorm_block.h"
#include "kernels/geonorm/geonorm_row.h"
#include "kernels/geonorm/geonorm_sums.h"

namespace normlab::kernels::NORMLAB_ISA {
namespace {

constexpr double kPi = 3.14159265358979323846;

using Rule = GeoAngle<double>;

Rule MakeRule(const normlab_geonorm_options& options) {
  Rule rule{};
  rule.retraction = options.retraction;
  rule.alpha = options.alpha;
  rule.scale = options.scale;
  rule.bias = options.bias;
  rule.clamp = options.angle_clamp > 0 ? options.angle_clamp : __builtin_inf();
  rule.has_fixed_angle = options.has_fixed_angle != 0;
  rule.fixed_angle = options.fixed_angle;
  return rule;
}

struct RowCurve {
  GeoCurve<double> curve;
  double p;
};

template <class Real>
NORMLAB_INLINE RowCurve CurveOf(const Rule& rule, const RowSums<Real>& sums) {
  const double u_squared = sums.u_squared, beta = sums.beta, a = sums.a;
  const double p = u_squared / a;
  return {EvaluateCurve<double>(rule, p, u_squared, u_squared + beta * beta * a), p};
}

template <class Real, class X, class V>
NORMLAB_INLINE void WriteOutput(const X* x, const V* v, X* y, std::int64_t cols, Real of_x,
                                Real of_v) {
  Columns<Real>(cols, [&](auto at, std::int64_t column) {
    at.Store(y + column, of_x * at.Load(x + column) + of_v * at.Load(v + column));
  });
}

// Angle between x and y in [0, pi].
double Wrapped(double theta) {
  theta = Absolute(theta);
  theta -= 2 * kPi * static_cast<double>(static_cast<std::int64_t>(theta / (2 * kPi)));
  return theta > kPi ? 2 * kPi - theta : theta;
}

template <class Real, class X>
void WriteProbes(const normlab_geonorm_forward_args& args, std::int64_t row, double theta) {
  Real* out = static_cast<Real*>(args.probes) + row * NORMLAB_ROW_PROBES;
  Real absolute;
  MagnitudeSums<Real>(Row<X>(args.y, row), args.y.cols, &absolute, &out[1]);
  out[0] = absolute / static_cast<Real>(args.y.cols);
  out[2] = static_cast<Real>(theta < 1e15 ? Wrapped(theta) : theta - theta);
}

template <class Kept, class Real>
NORMLAB_INLINE void WriteSaved(void* saved, std::int64_t row, const RowSums<Real>& sums,
                               Real angle_squared) {
  Kept* out = static_cast<Kept*>(saved) + row * NORMLAB_GEONORM_SAVED;
  out[0] = static_cast<Kept>(sums.a);
  out[1] = static_cast<Kept>(sums.beta);
  out[2] = static_cast<Kept>(sums.u_squared);
  out[3] = static_cast<Kept>(angle_squared);
}

double StepOf(const Rule& rule) { return rule.has_fixed_angle ? 0.0 : rule.alpha * rule.scale; }

// One row in fp64, alone; returns whether it is a zero row. Kept is the type of the caller's
// buffers of Reals.
template <class Kept, class X, class V>
bool ForwardAgain(const Rule& rule, const normlab_geonorm_forward_args& args, std::int64_t row) {
  const X* x = Row<X>(args.x, row);
  const V* v = Row<V>(args.v, row);
  const auto sums = ReadRow<double>(x, v, args.x.cols);
  X* y = Row<X>(args.y, row);
  const bool zero = sums.a == 0;
  GeoCurve<double> curve{};
  if (zero) {
    for (std::int64_t i = 0; i < args.x.cols; ++i) y[i] = x[i];
  } else {
    curve = CurveOf(rule, sums).curve;
    WriteOutput<double>(x, v, y, args.x.cols, curve.c - curve.t * sums.beta, curve.t);
  }
  if (args.saved != nullptr) {
    const double step = StepOf(rule);
    const double p = sums.a > 0 ? sums.u_squared / sums.a : 0.0;
    WriteSaved<Kept>(args.saved, row, sums, step * step * p);
  }
  if (args.probes != nullptr) WriteProbes<Kept, X>(args, row, curve.theta);
  return zero;
}

template <class Real, class X, class V>
std::int64_t ForwardBlock(const Rule& rule, const normlab_geonorm_forward_args& args,
                          std::int64_t begin, int count) {
  BlockSums<Real> sums;
  BlockSums<double> wide;
  BlockCurve curve;
  if (args.x.cols >= kLongRow) {
    ReadLongRows<Real, X, V>(args.x, args.v, begin, count, &sums);
  } else {
    ReadBlock<Real, X, V>(args.x, args.v, begin, count, &sums);
  }
  Widen(sums, &wide);
  CurvesOfBlock<Real>(rule, wide, count, &curve);
  Real of_x[kBlockRows], of_v[kBlockRows], angle_squared[kBlockRows];
  const double step = StepOf(rule);
  for (int r = 0; r < kBlockRows; ++r) {
    of_x[r] = static_cast<Real>(curve.c[r] - curve.t[r] * wide.beta[r]);
    of_v[r] = static_cast<Real>(curve.t[r]);
    angle_squared[r] = static_cast<Real>(step * step * curve.p[r]);
  }
  std::int64_t zero_rows = 0;
  for (int r = 0; r < count; ++r) {
    const std::int64_t row = begin + r;
    const RowSums<Real> own{sums.a[r], sums.beta[r], sums.u_squared[r]};
    if (!InRange(own)) {
      zero_rows += ForwardAgain<Real, X, V>(rule, args, row);
      continue;
    }
    WriteOutput<Real>(Row<X>(args.x, row), Row<V>(args.v, row), Row<X>(args.y, row), args.x.cols,
                      of_x[r], of_v[r]);
    if (args.saved != nullptr) WriteSaved<Real>(args.saved, row, own, angle_squared[r]);
    if (args.probes != nullptr) {
      WriteProbes<Real, X>(args, row, CurveOfRow(rule, wide, r).theta);
    }
  }
  return zero_rows;
}

// ---- backward ----------------------------------------------------------------------------------

// What a row's gradients are made of; turn = 2(dL/dp)/a, across = -T·gamma, shrink = -p·turn.
template <class Real>
struct RowGradient {
  Real c, t, across, turn, shrink;
};

template <class Real, class X, class V>
NORMLAB_INLINE void WriteGradients(const normlab_geonorm_backward_args& args, std::int64_t row,
                                   const RowGradient<Real>& of, Real beta) {
  const X* g = Row<X>(args.g, row);
  const X* x = Row<X>(args.x, row);
  const V* v = Row<V>(args.v, row);
  X* dx = Row<X>(args.dx, row);
  V* dv = Row<V>(args.dv, row);
  Columns<Real>(args.x.cols, [&](auto at, std::int64_t column) {
    const auto upstream = at.Load(g + column);
    const auto value = at.Load(x + column);
    const auto u = at.Load(v + column) - beta * value;
    const auto of_v = of.t * upstream + of.across * value + of.turn * u;
    at.Store(dv + column, of_v);
    at.Store(dx + column, of.c * upstream + of.across * u + of.shrink * value - beta * of_v);
  });
}

// A row whose sums fp32 does not hold, from its values again.
template <class X, class V>
void BackwardRow(const Rule& rule, const normlab_geonorm_backward_args& args, std::int64_t row,
                 const RowSums<double>& sums, double* dangle) {
  double gx, gu;
  ReadUpstream<double>(Row<X>(args.g, row), Row<X>(args.x, row), Row<V>(args.v, row), args.x.cols,
                       sums.beta, &gx, &gu);
  const RowCurve row_curve = CurveOf(rule, sums);
  const GeoCurve<double>& curve = row_curve.curve;
  const double slope = 2 * (curve.dc * gx + curve.dt * gu) / sums.a;
  if (dangle != nullptr) {
    AddAngleGradients<double>(rule, curve, gx, gu, row_curve.p, dangle);
  }
  const RowGradient<double> of{curve.c, curve.t, -curve.t * gx / sums.a, slope,
                               -row_curve.p * slope};
  WriteGradients<double, X, V>(args, row, of, sums.beta);
}

template <class X, class V>
void BackwardZeroRow(const normlab_geonorm_backward_args& args, std::int64_t row) {
  const X* g = Row<X>(args.g, row);
  X* dx = Row<X>(args.dx, row);
  V* dv = Row<V>(args.dv, row);
  for (std::int64_t i = 0; i < args.x.cols; ++i) {
    dx[i] = g[i];
    dv[i] = V{};
  }
}

template <class X, class V>
void BackwardAgain(const Rule& rule, const normlab_geonorm_backward_args& args, std::int64_t row,
                   double* dangle) {
  const auto sums = ReadRow<double>(Row<X>(args.x, row), Row<V>(args.v, row), args.x.cols);
  if (sums.a == 0) return BackwardZeroRow<X, V>(args, row);
  BackwardRow<X, V>(rule, args, row, sums, dangle);
}

// The curves of a block come from what the forward pass saved; its rows are then read and written
// one after the other, which keeps five streams of memory going better than passes over blocks
// would.
template <class Real, class X, class V>
void BackwardBlock(const Rule& rule, const normlab_geonorm_backward_args& args, std::int64_t begin,
                   int count, double* dangle) {
  BlockSums<Real> sums;
  BlockSums<double> wide;
  BlockCurve curve;
  LoadSaved(args.saved, begin, count, &sums);
  Widen(sums, &wide);
  CurvesOfBlock<Real>(rule, wide, count, &curve);
  double share[kBlockRows];
  for (int r = 0; r < kBlockRows; ++r) share[r] = 1 / wide.a[r];
  for (int r = 0; r < count; ++r) {
    const std::int64_t row = begin + r;
    const Real beta = sums.beta[r];
    if (!InRange(RowSums<Real>{sums.a[r], beta, sums.u_squared[r]})) {
      BackwardAgain<X, V>(rule, args, row, dangle);
      continue;
    }
    Real gx, gu;
    ReadUpstream<Real>(Row<X>(args.g, row), Row<X>(args.x, row), Row<V>(args.v, row), args.x.cols,
                       beta, &gx, &gu);
    const double turn = 2 * (curve.dc[r] * gx + curve.dt[r] * gu) * share[r];
    const RowGradient<Real> of{static_cast<Real>(curve.c[r]), static_cast<Real>(curve.t[r]),
                               static_cast<Real>(-curve.t[r] * gx * share[r]),
                               static_cast<Real>(turn), static_cast<Real>(-curve.p[r] * turn)};
    WriteGradients<Real, X, V>(args, row, of, beta);
    if (dangle != nullptr) {
      AddAngleGradients<double>(rule, CurveOfRow(rule, wide, r), gx, gu, curve.p[r], dangle);
    }
  }
}

// ---- entry -------------------------------------------------------------------------------------

struct Forward {
  const normlab_geonorm_options& options;
  const normlab_geonorm_forward_args& args;
  std::int64_t begin, end;
  std::int64_t* zero_rows;

  template <class Real, class X, class V>
  void Run() {
    const Rule rule = MakeRule(options);
    const int block = RowsPerBlock(
        args.x.cols * static_cast<std::int64_t>(2 * sizeof(X) + sizeof(V)), kBlockRows);
    for (std::int64_t row = begin; row < end; row += block) {
      const int count = end - row < block ? static_cast<int>(end - row) : block;
      *zero_rows += ForwardBlock<Real, X, V>(rule, args, row, count);
    }
  }
};

struct Backward {
  const normlab_geonorm_options& options;
  const normlab_geonorm_backward_args& args;
  std::int64_t begin, end;
  double* dangle;

  template <class Real, class X, class V>
  void Run() {
    const Rule rule = MakeRule(options);
    for (std::int64_t row = begin; row < end; row += kBlockRows) {
      const int count = end - row < kBlockRows ? static_cast<int>(end - row) : kBlockRows;
      BackwardBlock<Real, X, V>(rule, args, row, count, dangle);
    }
  }
};

std::int64_t ForwardRows(const normlab_geonorm_options& options,
                         const normlab_geonorm_forward_args& args, std::int64_t begin,
                         std::int64_t end) {
  std::int64_t zero_rows = 0;
  VisitTypes(args.x.dtype, args.v.dtype, Forward{options, args, begin, end, &zero_rows});
  return zero_rows;
}

void BackwardRows(const normlab_geonorm_options& options, const normlab_geonorm_backward_args& args,
                  std::int64_t begin, std::int64_t end, double* dangle) {
  VisitTypes(args.x.dtype, args.v.dtype, Backward{options, args, begin, end, dangle});
}

}  // namespace

extern const GeoNormRows kGeoNormRows;
const GeoNormRows kGeoNormRows = {&ForwardRows, &BackwardRows};

}  // namespace normlab::kernels::NORMLAB_ISA
