// GeoNorm on the CPU (GeoNorm, arXiv 2601.22095; formulas in geonorm_row.h). Compiled once per
// instruction set, with NORMLAB_ISA naming it.
//
// The forward pass takes short rows in small blocks: sums of all rows of a block, then their
// scalars side by side, then the outputs; a block stays in the L1 cache between the passes, so
// memory sees each input once. It takes long rows one by one, as the backward pass does most rows.
// Sums are in fp32 for fp32 and bf16 storage. A row whose sums leave the safe range of fp32 (huge,
// tiny, zero or not finite) is worked out again in fp64, alone.
#include "kernels/geonorm/geonorm_cpu.h"

#include "kernels/common/row_access.h"
#include "kernels/geonorm/geonorm_block.h"
#include "kernels/geonorm/geonorm_row.h"
#include "kernels/geonorm/geonorm_sums.h"

namespace normlab::kernels::NORMLAB_ISA {
namespace {

using Rule = GeoAngle<double>;

struct RowCurve {
  GeoCurve<double> curve;
  double p;
};

RowCurve CurveOf(const Rule& rule, const RowSums<double>& sums) {
  const double p = sums.u_squared / sums.a;
  return {EvaluateCurve<double>(rule, p, sums.u_squared,
                                sums.u_squared + sums.beta * sums.beta * sums.a),
          p};
}

template <class Real, bool kLong, bool kPast, class X, class V>
NORMLAB_INLINE void WriteOutput(const X* x, const V* v, X* y, std::int64_t cols, Real of_x,
                                Real of_v) {
  ColumnsOf<Real, X, V>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    if constexpr (kLong) at.FetchAhead(x + column), at.FetchAhead(v + column);
    Put<kPast>(at, y + column, of_x * at.Load(x + column) + of_v * at.Load(v + column));
  });
}

template <class Real, class X>
void WriteProbes(const normlab_geonorm_forward_args& args, std::int64_t row, double theta) {
  Real* out = static_cast<Real*>(args.probes) + row * NORMLAB_ROW_PROBES;
  Real absolute;
  MagnitudeSums<Real>(Row<X>(args.y, row), args.y.cols, &absolute, &out[1]);
  out[0] = absolute / static_cast<Real>(args.y.cols);
  out[2] = static_cast<Real>(WrappedAngle(theta));
}

template <class Kept>
NORMLAB_INLINE void WriteSaved(void* saved, std::int64_t row, const RowSums<double>& sums,
                               double angle_squared) {
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
    WriteOutput<double, false, false>(x, v, y, args.x.cols, curve.c - curve.t * sums.beta, curve.t);
  }
  if (args.saved != nullptr) {
    const double step = StepOf(rule);
    const double p = sums.a > 0 ? sums.u_squared / sums.a : 0.0;
    WriteSaved<Kept>(args.saved, row, sums, step * step * p);
  }
  if (args.probes != nullptr) WriteProbes<Kept, X>(args, row, curve.theta);
  return zero;
}

template <class Real, bool kLong, class X, class V>
std::int64_t ForwardBlock(const Rule& rule, const normlab_geonorm_forward_args& args,
                          std::int64_t begin, int count, bool past) {
  BlockSums sums;
  BlockCurve curve;
  ReadBlock<Real, kLong, X, V>(args.x, args.v, begin, count, &sums);
  CurvesOfBlock<Real>(rule, sums, count, false, &curve);
  Real of_x[kBlockRows], of_v[kBlockRows];
  for (int r = 0; r < kBlockRows; r += kLanes<double>) {
    const auto t = LoadLanes(curve.t + r);
    StoreLanes(of_x + r, LoadLanes(curve.c + r) - t * LoadLanes(sums.beta + r));
    StoreLanes(of_v + r, t);
  }
  const double step = StepOf(rule);
  std::int64_t zero_rows = 0;
  for (int r = 0; r < count; ++r) {
    const std::int64_t row = begin + r;
    if (!curve.all_trusted && curve.trusted[r] == 0) {
      zero_rows += ForwardAgain<Real, X, V>(rule, args, row);
      continue;
    }
    const X* x = Row<X>(args.x, row);
    const V* v = Row<V>(args.v, row);
    X* y = Row<X>(args.y, row);
    past ? WriteOutput<Real, kLong, true>(x, v, y, args.x.cols, of_x[r], of_v[r])
         : WriteOutput<Real, kLong, false>(x, v, y, args.x.cols, of_x[r], of_v[r]);
    if (args.saved != nullptr) {
      WriteSaved<Real>(args.saved, row, {sums.a[r], sums.beta[r], sums.u_squared[r]},
                       step * step * curve.p[r]);
    }
    if (args.probes != nullptr) WriteProbes<Real, X>(args, row, CurveOfRow(rule, sums, r).theta);
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
  ColumnsOf<Real, X, V>(args.x.cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    const auto upstream = at.Load(g + column);
    const auto value = at.Load(x + column);
    const auto u = at.Load(v + column) - beta * value;
    const auto of_v = of.t * upstream + of.across * value + of.turn * u;
    at.Store(dv + column, of_v);
    at.Store(dx + column, of.c * upstream + of.across * u + of.shrink * value - beta * of_v);
  });
}

// A row alone, in arithmetic of Reals: u is formed in place, so nothing cancels.
template <class Real, class X, class V>
void BackwardRow(const Rule& rule, const normlab_geonorm_backward_args& args, std::int64_t row,
                 const RowSums<double>& sums, double* dangle) {
  const Real beta = static_cast<Real>(sums.beta);
  Real gx, gu;
  ReadAlongTangent<Real>(Row<X>(args.g, row), Row<X>(args.x, row), Row<V>(args.v, row), args.x.cols,
                         beta, &gx, &gu);
  const RowCurve row_curve = CurveOf(rule, sums);
  const GeoCurve<double>& curve = row_curve.curve;
  const double slope = 2 * (curve.dc * gx + curve.dt * gu) / sums.a;
  if (dangle != nullptr) {
    AddAngleGradients<double>(rule, curve, gx, gu, row_curve.p, dangle);
  }
  const RowGradient<Real> of{static_cast<Real>(curve.c), static_cast<Real>(curve.t),
                             static_cast<Real>(-curve.t * gx / sums.a), static_cast<Real>(slope),
                             static_cast<Real>(-row_curve.p * slope)};
  WriteGradients<Real, X, V>(args, row, of, beta);
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
  BackwardRow<double, X, V>(rule, args, row, sums, dangle);
}

// The gradients collapsed to three terms each:
//
//   dv = t·g + cross·x + turn·v      dx = along·g + cross·v + shrink·x
//
// where |u|^2 is half of |v|^2 or more, so that v instead of u loses nothing.
template <class Real>
struct CollapsedGradient {
  Real along, t, cross, turn, shrink;
};

template <class Real, bool kLong, bool kPast, class X, class V>
NORMLAB_INLINE void WriteCollapsed(const normlab_geonorm_backward_args& args, std::int64_t row,
                                   const CollapsedGradient<Real>& of) {
  const X* g = Row<X>(args.g, row);
  const X* x = Row<X>(args.x, row);
  const V* v = Row<V>(args.v, row);
  X* dx = Row<X>(args.dx, row);
  V* dv = Row<V>(args.dv, row);
  ColumnsOf<Real, X, V>(args.x.cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    if constexpr (kLong) {
      at.FetchAhead(g + column), at.FetchAhead(x + column), at.FetchAhead(v + column);
    }
    const auto upstream = at.Load(g + column);
    const auto value = at.Load(x + column), branch = at.Load(v + column);
    Put<kPast>(at, dv + column, of.t * upstream + of.cross * value + of.turn * branch);
    Put<kPast>(at, dx + column, of.along * upstream + of.cross * branch + of.shrink * value);
  });
}

// What the rows of a block need besides their two sums over g, from what the forward pass saved.
template <class Real>
struct BackwardPlan {
  BlockSums sums;
  BlockCurve curve;
  std::int64_t apart[kBlockRows];  // not 0 where |u|^2 >= |v|^2/2
  // Three coefficients of a row are linear in its sums <g,x> and <g,v>: what these are multiplied
  // by, so that little is left to do once they are known.
  double turn[2][kBlockRows], cross[2][kBlockRows], shrink[2][kBlockRows];
  Real along[kBlockRows], t[kBlockRows];

  BackwardPlan(const Rule& rule, const void* saved, std::int64_t begin, int count,
               bool gradients_wanted) {
    LoadSaved<Real>(saved, begin, count, &sums);
    CurvesOfBlock<Real>(rule, sums, count, gradients_wanted, &curve);
    for (int r = 0; r < kBlockRows; r += kLanes<double>) {
      const auto beta = LoadLanes(sums.beta + r), share = LoadLanes(curve.share + r);
      const auto tangent = LoadLanes(curve.t + r);
      const LaneMask enough = beta * beta * LoadLanes(sums.a + r) <= LoadLanes(sums.u_squared + r);
      StoreLanes(apart + r, enough);
      const auto p = LoadLanes(curve.p + r), across = -share * tangent;
      const auto of_gv = 2 * share * LoadLanes(curve.dt + r);
      const auto of_gx = 2 * share * LoadLanes(curve.dc + r) - beta * of_gv;
      StoreLanes(turn[0] + r, of_gx);
      StoreLanes(turn[1] + r, of_gv);
      StoreLanes(cross[0] + r, across - beta * of_gx);
      StoreLanes(cross[1] + r, -beta * of_gv);
      StoreLanes(shrink[0] + r, (beta * beta - p) * of_gx - 2 * beta * across);
      StoreLanes(shrink[1] + r, (beta * beta - p) * of_gv);
      StoreLanes(along + r, LoadLanes(curve.c + r) - beta * tangent);
      StoreLanes(t + r, tangent);
    }
  }

  NORMLAB_INLINE CollapsedGradient<Real> GradientOf(int r, double gx, double gv) const {
    return {along[r], t[r], static_cast<Real>(cross[0][r] * gx + cross[1][r] * gv),
            static_cast<Real>(turn[0][r] * gx + turn[1][r] * gv),
            static_cast<Real>(shrink[0][r] * gx + shrink[1][r] * gv)};
  }
};

// Sums over g of a block's rows.
struct BlockDots {
  double gx[kBlockRows], gv[kBlockRows];
};

constexpr std::int64_t kNarrowBytes = 256;

template <class Real, bool kLong, class X, class V>
struct BackwardBlock {
  const Rule& rule;
  const normlab_geonorm_backward_args& args;
  const BackwardPlan<Real>& plan;
  std::int64_t begin;
  bool past;
  double* dangle;
  BlockDots dots;

  NORMLAB_INLINE void Read(int r) {
    const std::int64_t row = begin + r;
    const auto sums = ReadUpstream<Real, kLong>(Row<X>(args.g, row), Row<X>(args.x, row),
                                                Row<V>(args.v, row), args.x.cols);
    dots.gx[r] = sums.gx.Total();
    dots.gv[r] = sums.gv.Total();
  }

  NORMLAB_INLINE void Write(int r) const {
    const std::int64_t row = begin + r;
    const BlockSums& sums = plan.sums;
    if (!plan.curve.all_trusted && plan.curve.trusted[r] == 0) {
      BackwardAgain<X, V>(rule, args, row, dangle);
    } else if (plan.apart[r] == 0) {
      BackwardRow<Real, X, V>(rule, args, row, {sums.a[r], sums.beta[r], sums.u_squared[r]},
                              dangle);
    } else {
      const CollapsedGradient<Real> of = plan.GradientOf(r, dots.gx[r], dots.gv[r]);
      past ? WriteCollapsed<Real, kLong, true, X, V>(args, row, of)
           : WriteCollapsed<Real, kLong, false, X, V>(args, row, of);
      if (dangle == nullptr) return;
      AddAngleGradients<double>(rule, CurveOfRow(rule, sums, r), dots.gx[r],
                                dots.gv[r] - sums.beta[r] * dots.gx[r], plan.curve.p[r], dangle);
    }
  }

  // Memory goes better when each row is written at once after it was read (five streams, which a
  // block would interrupt). Of narrow bf16 rows arithmetic is the limit: a block's are read first,
  // so that their scalars need not wait for each other.
  void Run(int count) {
    const bool narrow = args.x.cols * static_cast<std::int64_t>(sizeof(X)) <= kNarrowBytes;
    if (sizeof(X) == 2 && narrow) {
      for (int r = 0; r < count; ++r) Read(r);
      for (int r = 0; r < count; ++r) Write(r);
    } else {
      for (int r = 0; r < count; ++r) {
        Read(r);
        Write(r);
      }
    }
  }
};

// ---- entry -------------------------------------------------------------------------------------

struct Forward {
  const normlab_geonorm_options& options;
  const normlab_geonorm_forward_args& args;
  std::int64_t begin, end;
  bool past;
  std::int64_t* zero_rows;

  template <class Real, class X, class V>
  void Run() {
    const Rule rule = AngleRule(options);
    // The scalars of short rows are worked out side by side; a long row had better be written while
    // it is in the cache, alone.
    const bool is_long = IsLong<X>(args.x.cols);
    const std::int64_t bytes = args.x.cols * static_cast<std::int64_t>(2 * sizeof(X) + sizeof(V));
    const int block = is_long ? 1 : RowsPerBlock(bytes, kBlockRows);
    for (std::int64_t row = begin; row < end; row += block) {
      const int count = end - row < block ? static_cast<int>(end - row) : block;
      *zero_rows += is_long ? ForwardBlock<Real, true, X, V>(rule, args, row, count, past)
                            : ForwardBlock<Real, false, X, V>(rule, args, row, count, past);
    }
    if (past) FinishPastCaches();
  }
};

struct Backward {
  const normlab_geonorm_options& options;
  const normlab_geonorm_backward_args& args;
  std::int64_t begin, end;
  bool past;
  double* dangle;

  template <class Real, class X, class V>
  void Run() {
    const Rule rule = AngleRule(options);
    const bool is_long = IsLong<X>(args.x.cols);
    for (std::int64_t row = begin; row < end; row += kBlockRows) {
      const int count = end - row < kBlockRows ? static_cast<int>(end - row) : kBlockRows;
      const BackwardPlan<Real> plan(rule, args.saved, row, count, dangle != nullptr);
      is_long
          ? BackwardBlock<Real, true, X, V>{rule, args, plan, row, past, dangle, {}}.Run(count)
          : BackwardBlock<Real, false, X, V>{rule, args, plan, row, past, dangle, {}}.Run(count);
    }
    if (past) FinishPastCaches();
  }
};

std::int64_t ForwardRows(const normlab_geonorm_options& options,
                         const normlab_geonorm_forward_args& args, std::int64_t begin,
                         std::int64_t end, bool past) {
  std::int64_t zero_rows = 0;
  VisitTypes(args.x.dtype, args.v.dtype, Forward{options, args, begin, end, past, &zero_rows});
  return zero_rows;
}

void BackwardRows(const normlab_geonorm_options& options, const normlab_geonorm_backward_args& args,
                  std::int64_t begin, std::int64_t end, bool past, double* dangle) {
  VisitTypes(args.x.dtype, args.v.dtype, Backward{options, args, begin, end, past, dangle});
}

}  // namespace

extern const GeoNormRows kGeoNormRows;
const GeoNormRows kGeoNormRows = {&ForwardRows, &BackwardRows};

}  // namespace normlab::kernels::NORMLAB_ISA
