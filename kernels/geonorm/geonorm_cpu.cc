// GeoNorm on the CPU (GeoNorm, arXiv 2601.22095; formulas in geonorm_row.h). Compiled once per
// instruction set, with NORMLAB_ISA naming it.
//
// Rows go through in small blocks: sums of all rows of a block, then their scalars, then the
// outputs; a block stays in the L1 cache between the passes, so memory sees each input once.
// Sums are in fp32 for fp32 and bf16 storage. A row whose sums leave the safe range of fp32 (huge,
// tiny, zero or not finite) is worked out again in fp64, alone.
#include "kernels/geonorm/geonorm_cpu.h"

#include "kernels/common/row_access.h"
#include "kernels/geonorm/geonorm_row.h"

namespace normlab::kernels::NORMLAB_ISA {
namespace {

constexpr int kBlock = 16;
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

// What the forward pass learns about a row by reading it.
template <class Real>
struct RowSums {
  Real a, beta, u_squared;
};

// Sums in fp32 that can be trusted; written so that NaN is not.
NORMLAB_INLINE bool InRange(const RowSums<float>& sums) {
  return sums.a > 1e-30f && sums.a < 1e30f && Absolute(sums.beta) < 1e15f && sums.u_squared < 1e30f;
}
NORMLAB_INLINE bool InRange(const RowSums<double>&) { return true; }

template <class Real, class X, class V>
NORMLAB_INLINE RowSums<Real> ReadRow(const X* x, const V* v, std::int64_t cols) {
  Sum<Real> xx, xv, uu;
  Columns<Real>(cols, [&](auto at, std::int64_t column) {
    const auto value = at.Load(x + column);
    xx.Add(at, value * value);
    xv.Add(at, value * at.Load(v + column));
  });
  RowSums<Real> sums{xx.Total(), 0, 0};
  sums.beta = sums.a != 0 ? xv.Total() / sums.a : Real(0);
  const Real beta = sums.beta;
  // A second pass: |v|^2 - beta^2·a would lose everything where v is nearly parallel to x.
  Columns<Real>(cols, [&](auto at, std::int64_t column) {
    const auto u = at.Load(v + column) - beta * at.Load(x + column);
    uu.Add(at, u * u);
  });
  sums.u_squared = uu.Total();
  return sums;
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

template <class Real>
void WriteSaved(void* saved, std::int64_t row, double a, double beta, double u_squared,
                double step) {
  Real* out = static_cast<Real*>(saved) + row * NORMLAB_GEONORM_SAVED;
  out[0] = static_cast<Real>(a);
  out[1] = static_cast<Real>(beta);
  out[2] = static_cast<Real>(u_squared);
  out[3] = static_cast<Real>(a > 0 ? step * step * (u_squared / a) : 0.0);
}

double StepOf(const Rule& rule) { return rule.has_fixed_angle ? 0.0 : rule.alpha * rule.scale; }

// One row from its sums; returns whether it is a zero row. Real is the type of the arithmetic,
// Kept the one that the caller's buffers of Reals have.
template <class Real, class Kept, class X, class V>
bool FinishRow(const Rule& rule, const normlab_geonorm_forward_args& args, std::int64_t row,
               const RowSums<Real>& sums) {
  const X* x = Row<X>(args.x, row);
  const V* v = Row<V>(args.v, row);
  X* y = Row<X>(args.y, row);
  const bool zero = sums.a == 0;
  GeoCurve<double> curve{};
  if (zero) {
    for (std::int64_t i = 0; i < args.x.cols; ++i) y[i] = x[i];
  } else {
    curve = CurveOf(rule, sums).curve;
    WriteOutput<Real>(x, v, y, args.x.cols, static_cast<Real>(curve.c - curve.t * sums.beta),
                      static_cast<Real>(curve.t));
  }
  if (args.saved != nullptr) {
    WriteSaved<Kept>(args.saved, row, sums.a, sums.beta, sums.u_squared, StepOf(rule));
  }
  if (args.probes != nullptr) WriteProbes<Kept, X>(args, row, curve.theta);
  return zero;
}

template <class Real, class X, class V>
std::int64_t ForwardBlock(const Rule& rule, const normlab_geonorm_forward_args& args,
                          std::int64_t begin, int count) {
  RowSums<Real> sums[kBlock];
  for (int r = 0; r < count; ++r) {
    sums[r] = ReadRow<Real>(Row<X>(args.x, begin + r), Row<V>(args.v, begin + r), args.x.cols);
  }
  std::int64_t zero_rows = 0;
  for (int r = 0; r < count; ++r) {
    const std::int64_t row = begin + r;
    if (InRange(sums[r])) {
      zero_rows += FinishRow<Real, Real, X, V>(rule, args, row, sums[r]);
    } else {
      const auto again = ReadRow<double>(Row<X>(args.x, row), Row<V>(args.v, row), args.x.cols);
      zero_rows += FinishRow<double, Real, X, V>(rule, args, row, again);
    }
  }
  return zero_rows;
}

// ---- backward ----------------------------------------------------------------------------------

// Sums over g of one row: <g,x> and <g,u>; u is formed in place, so nothing cancels.
template <class Real, class X, class V>
NORMLAB_INLINE void ReadUpstream(const X* g, const X* x, const V* v, std::int64_t cols, Real beta,
                                 Real* gx, Real* gu) {
  Sum<Real> along_x, along_u;
  Columns<Real>(cols, [&](auto at, std::int64_t column) {
    const auto upstream = at.Load(g + column);
    const auto value = at.Load(x + column);
    along_x.Add(at, upstream * value);
    along_u.Add(at, upstream * (at.Load(v + column) - beta * value));
  });
  *gx = along_x.Total();
  *gu = along_u.Total();
}

template <class Real, class X, class V>
void BackwardRow(const Rule& rule, const normlab_geonorm_backward_args& args, std::int64_t row,
                 const RowSums<Real>& sums, double* dangle) {
  const X* g = Row<X>(args.g, row);
  const X* x = Row<X>(args.x, row);
  const V* v = Row<V>(args.v, row);
  Real gx, gu;
  ReadUpstream<Real>(g, x, v, args.x.cols, sums.beta, &gx, &gu);

  const RowCurve row_curve = CurveOf(rule, sums);
  const GeoCurve<double>& curve = row_curve.curve;
  const double a = sums.a, p = row_curve.p;
  const double slope = curve.dc * gx + curve.dt * gu;
  if (dangle != nullptr) AddAngleGradients<double>(rule, curve, gx, gu, p, dangle);

  const Real beta = sums.beta;
  const Real c = static_cast<Real>(curve.c), t = static_cast<Real>(curve.t);
  const Real across = static_cast<Real>(-curve.t * gx / a);
  const Real turn = static_cast<Real>(2 * slope / a);
  const Real shrink = static_cast<Real>(-2 * p * slope / a);
  X* dx = Row<X>(args.dx, row);
  V* dv = Row<V>(args.dv, row);
  Columns<Real>(args.x.cols, [&](auto at, std::int64_t column) {
    const auto upstream = at.Load(g + column);
    const auto value = at.Load(x + column);
    const auto u = at.Load(v + column) - beta * value;
    const auto of_v = t * upstream + across * value + turn * u;
    at.Store(dv + column, of_v);
    at.Store(dx + column, c * upstream + across * u + shrink * value - beta * of_v);
  });
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

template <class Real, class X, class V>
void BackwardOne(const Rule& rule, const normlab_geonorm_backward_args& args, std::int64_t row,
                 double* dangle) {
  const Real* saved = static_cast<const Real*>(args.saved) + row * NORMLAB_GEONORM_SAVED;
  const RowSums<Real> sums{saved[0], saved[1], saved[2]};
  if (InRange(sums) && sums.a != 0) {
    return BackwardRow<Real, X, V>(rule, args, row, sums, dangle);
  }
  const auto again = ReadRow<double>(Row<X>(args.x, row), Row<V>(args.v, row), args.x.cols);
  if (again.a == 0) return BackwardZeroRow<X, V>(args, row);
  BackwardRow<double, X, V>(rule, args, row, again, dangle);
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
    const int block =
        RowsPerBlock(args.x.cols * static_cast<std::int64_t>(sizeof(X) + sizeof(V)), kBlock);
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
    for (std::int64_t row = begin; row < end; ++row) {
      BackwardOne<Real, X, V>(rule, args, row, dangle);
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
