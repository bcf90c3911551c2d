// LayerNorm and RMSNorm on the CPU. Compiled once per instruction set, with NORMLAB_ISA naming it.
//
//   dx = rstd·(h - mean(h) - unit·mean(h·unit))     h = g·gain     unit = (x - mean)·rstd
//
// without the mean(h) term for RMSNorm. The column sums (dgain = sum of g·unit, dbias = sum of g)
// are taken in the same pass as dx, so g and x are read from memory once.
#include "kernels/norm/norm_cpu.h"

#include "kernels/norm/norm_row.h"

namespace normlab::kernels::NORMLAB_ISA {
namespace {

template <class Real, class X, class Y>
void ForwardRow(const normlab_norm_options& options, const normlab_norm_forward_args& args,
                std::int64_t row) {
  const std::int64_t cols = args.x.cols;
  const X* x = Row<X>(args.x, row);
  Y* y = Row<Y>(args.y, row);
  const Real* gain = static_cast<const Real*>(args.gain);
  const Real* bias = static_cast<const Real*>(args.bias);
  const NormStatistics statistics = RowStatistics<Real>(options, x, cols);
  if (sizeof(Real) == 8 || FitsFloat(statistics)) {
    ApplyNorm<Real>(x, statistics, gain, bias, y, cols);
  } else {
    ApplyNorm<double>(x, statistics, gain, bias, y, cols);
  }
  if (args.saved != nullptr) {
    Real* saved = static_cast<Real*>(args.saved) + row * NORMLAB_NORM_SAVED;
    saved[0] = static_cast<Real>(statistics.mean);
    saved[1] = static_cast<Real>(statistics.rstd);
  }
}

// Statistics of the forward pass, and the row again in fp64 where fp32 could not hold them.
// Real is the type of the arithmetic, Kept the one that the caller's buffers of Reals have.
template <class Real, class Kept, class X, class Y>
NORMLAB_INLINE void BackwardRow(const normlab_norm_options& options,
                                const normlab_norm_backward_args& args, std::int64_t row,
                                const NormStatistics& statistics, Kept* dgain, Kept* dbias) {
  const std::int64_t cols = args.x.cols;
  const Y* g = Row<Y>(args.g, row);
  const X* x = Row<X>(args.x, row);
  X* dx = Row<X>(args.dx, row);
  const Kept* gain = static_cast<const Kept*>(args.gain);
  const NormDots<Real> dots = UpstreamDots<Real>(g, x, statistics, gain, cols);
  const Real mean = static_cast<Real>(statistics.mean), rstd = static_cast<Real>(statistics.rstd);
  const Real of_one = options.kind == NORMLAB_LAYERNORM ? dots.of_one : Real(0);
  const Real of_unit = dots.of_unit;
  Columns<Real>(cols, [&](auto at, std::int64_t column) {
    const auto upstream = at.Load(g + column);
    const auto unit = (at.Load(x + column) - mean) * rstd;
    auto weighted = upstream;
    if (gain != nullptr) weighted *= at.Load(gain + column);
    at.Store(dx + column, rstd * (weighted - of_one - unit * of_unit));
    if (dgain != nullptr) at.Store(dgain + column, at.Load(dgain + column) + upstream * unit);
    if (dbias != nullptr) at.Store(dbias + column, at.Load(dbias + column) + upstream);
  });
}

template <class Real, class X, class Y>
void BackwardOne(const normlab_norm_options& options, const normlab_norm_backward_args& args,
                 std::int64_t row, Real* dgain, Real* dbias) {
  const Real* saved = static_cast<const Real*>(args.saved) + row * NORMLAB_NORM_SAVED;
  NormStatistics statistics{saved[0], saved[1]};
  if (sizeof(Real) == 8 || FitsFloat(statistics)) {
    return BackwardRow<Real, Real, X, Y>(options, args, row, statistics, dgain, dbias);
  }
  statistics = RowStatistics<Real>(options, Row<X>(args.x, row), args.x.cols);
  BackwardRow<double, Real, X, Y>(options, args, row, statistics, dgain, dbias);
}

struct Forward {
  const normlab_norm_options& options;
  const normlab_norm_forward_args& args;
  std::int64_t begin, end;

  template <class Real, class X, class Y>
  void Run() {
    for (std::int64_t row = begin; row < end; ++row) ForwardRow<Real, X, Y>(options, args, row);
  }
};

struct Backward {
  const normlab_norm_options& options;
  const normlab_norm_backward_args& args;
  std::int64_t begin, end;
  void* dgain;
  void* dbias;

  template <class Real, class X, class Y>
  void Run() {
    Real* sums[2] = {static_cast<Real*>(dgain), static_cast<Real*>(dbias)};
    for (Real* sum : sums) {
      for (std::int64_t i = 0; sum != nullptr && i < args.x.cols; ++i) sum[i] = 0;
    }
    for (std::int64_t row = begin; row < end; ++row) {
      BackwardOne<Real, X, Y>(options, args, row, sums[0], sums[1]);
    }
  }
};

void ForwardRows(const normlab_norm_options& options, const normlab_norm_forward_args& args,
                 std::int64_t begin, std::int64_t end) {
  VisitTypes(args.x.dtype, args.y.dtype, Forward{options, args, begin, end});
}

void BackwardRows(const normlab_norm_options& options, const normlab_norm_backward_args& args,
                  std::int64_t begin, std::int64_t end, void* dgain, void* dbias) {
  VisitTypes(args.x.dtype, args.g.dtype, Backward{options, args, begin, end, dgain, dbias});
}

}  // namespace

extern const NormRows kNormRows;
const NormRows kNormRows = {&ForwardRows, &BackwardRows};

}  // namespace normlab::kernels::NORMLAB_ISA
