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

struct Forward {
  const normlab_norm_options& options;
  const normlab_norm_forward_args& args;
  std::int64_t begin, end;
  bool past;

  template <class Real, class X, class Y>
  void Run() {
    for (std::int64_t row = begin; row < end; ++row) {
      const NormStatistics statistics =
          NormalizeRow<Real>(options, Row<X>(args.x, row), args.gain, args.bias,
                             Row<Y>(args.y, row), args.x.cols, past);
      KeepStatistics<Real>(statistics, args.saved, row);
    }
    if (past) FinishPastCaches();
  }
};

struct Backward {
  const normlab_norm_options& options;
  const normlab_norm_backward_args& args;
  std::int64_t begin, end;
  bool past;
  void* dgain;
  void* dbias;

  template <class Real, class X, class Y>
  void Run() {
    Real* sums[2] = {static_cast<Real*>(dgain), static_cast<Real*>(dbias)};
    for (Real* sum : sums) {
      for (std::int64_t i = 0; sum != nullptr && i < args.x.cols; ++i) sum[i] = 0;
    }
    const Real* gain = static_cast<const Real*>(args.gain);
    for (std::int64_t row = begin; row < end; ++row) {
      const NormGradient<X, Y, X, X, Real> gradient{Row<X>(args.x, row),
                                                    Row<Y>(args.g, row),
                                                    gain,
                                                    Row<X>(args.dx, row),
                                                    nullptr,
                                                    sums[0],
                                                    sums[1],
                                                    args.x.cols};
      gradient.Run(options, args.saved, row, past);
    }
    if (past) FinishPastCaches();
  }
};

void ForwardRows(const normlab_norm_options& options, const normlab_norm_forward_args& args,
                 std::int64_t begin, std::int64_t end, bool past) {
  VisitTypes(args.x.dtype, args.y.dtype, Forward{options, args, begin, end, past});
}

void BackwardRows(const normlab_norm_options& options, const normlab_norm_backward_args& args,
                  std::int64_t begin, std::int64_t end, bool past, void* dgain, void* dbias) {
  VisitTypes(args.x.dtype, args.g.dtype, Backward{options, args, begin, end, past, dgain, dbias});
}

}  // namespace

extern const NormRows kNormRows;
const NormRows kNormRows = {&ForwardRows, &BackwardRows};

}  // namespace normlab::kernels::NORMLAB_ISA
