// Residual updates of the plain and the post-norm placements on the CPU. Compiled once per
// instruction set, with NORMLAB_ISA naming it.
//
//   h = branch(g)     s = a·x + b·h     stream = post(s)     next = next(stream)
//
// A row goes through all stages while it is in the L1 cache, intermediate rows in scratch memory,
// so memory sees each input and each output once. The backward pass works h and s out again
// instead of reading stored copies.
#include "kernels/residual/residual_cpu.h"

#include "kernels/norm/norm_row.h"

namespace normlab::kernels::NORMLAB_ISA {
namespace {

// to = a·x + b·h, b times its column factors where there are any.
template <class Real, class X, class H, class To>
NORMLAB_INLINE void Combine(const normlab_residual_form& form, const X* x, const H* h, To* to,
                            std::int64_t cols) {
  const Real a = static_cast<Real>(form.a), b = static_cast<Real>(form.b);
  const Real* factors = static_cast<const Real*>(form.b_columns);
  Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    at.FetchAhead(x + column), at.FetchAhead(h + column);
    auto branch = b * at.Load(h + column);
    if (factors != nullptr) branch *= at.Load(factors + column);
    at.Store(to + column, a * at.Load(x + column) + branch);
  });
}

// Angle between two rows in [0, pi], as 2·atan(|p - q|/|p + q|) of the unit rows: exact for small
// angles, where acos of a cosine is not. NaN where a row is zero or not finite.
template <class Real, class X>
NORMLAB_INLINE double AngleBetween(const X* x, const X* y, double squares_y, std::int64_t cols) {
  Real absolute, squares_x;
  MagnitudeSums<Real>(x, cols, &absolute, &squares_x);
  const Real p = static_cast<Real>(1 / Sqrt(static_cast<double>(squares_x)));
  const Real q = static_cast<Real>(1 / Sqrt(squares_y));
  Sum<Real> apart, together;
  Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    const auto one = p * at.Load(x + column), other = q * at.Load(y + column);
    apart.Add(at, (one - other) * (one - other));
    together.Add(at, (one + other) * (one + other));
  });
  return 2 *
         ArcTan(Sqrt(static_cast<double>(apart.Total()) / static_cast<double>(together.Total())));
}

template <class Real, class X>
void WriteProbes(const normlab_residual_forward_args& args, std::int64_t row, const X* stream) {
  const std::int64_t cols = args.x.cols;
  Real* out = static_cast<Real*>(args.probes) + row * NORMLAB_ROW_PROBES;
  Real absolute;
  MagnitudeSums<Real>(stream, cols, &absolute, &out[1]);
  out[0] = absolute / static_cast<Real>(cols);
  out[2] = static_cast<Real>(AngleBetween<Real>(Row<X>(args.x, row), stream, out[1], cols));
}

// h of a row: g itself, or its norm in `scratch`. Calls use(pointer to h).
template <class Real, class G, class Use>
NORMLAB_INLINE void WithBranch(const normlab_norm_stage& stage, const G* g, std::int64_t row,
                               std::int64_t cols, Real* scratch, bool keep, Use use) {
  if (stage.present == 0) return use(g);
  const NormStatistics statistics =
      NormalizeRow<Real>(stage.options, g, stage.gain, stage.bias, scratch, cols);
  if (keep) KeepStatistics<Real>(statistics, stage.saved, row);
  use(static_cast<const Real*>(scratch));
}

// Where results go past the caches, the new stream is put together in scratch memory, for the next
// norm reads it again.
template <class Real, class X, class G>
void ForwardRow(const normlab_residual_form& form, const normlab_residual_forward_args& args,
                std::int64_t row, bool past, Real* scratch) {
  const std::int64_t cols = args.x.cols;
  const X* x = Row<X>(args.x, row);
  X* stored = Row<X>(args.stream, row);
  X* stream = past ? reinterpret_cast<X*>(scratch + 2 * cols) : stored;
  WithBranch<Real>(form.branch, Row<G>(args.g, row), row, cols, scratch, true, [&](const auto* h) {
    if (form.post.present == 0) return Combine<Real>(form, x, h, stream, cols);
    Real* sum = scratch + cols;
    Combine<Real>(form, x, h, sum, cols);
    const auto statistics =
        NormalizeRow<Real>(form.post.options, sum, form.post.gain, form.post.bias, stream, cols);
    KeepStatistics<Real>(statistics, form.post.saved, row);
  });
  if (form.next.present != 0) {
    const auto statistics = NormalizeRow<Real>(form.next.options, stream, form.next.gain,
                                               form.next.bias, Row<G>(args.next, row), cols, past);
    KeepStatistics<Real>(statistics, form.next.saved, row);
  }
  if (args.probes != nullptr) WriteProbes<Real, X>(args, row, stream);
  if (past) CopyPastCaches(stream, stored, cols);
}

// ---- backward ----------------------------------------------------------------------------------

template <class Real, bool kPast, class From, class To>
NORMLAB_INLINE void ScaleTo(Real factor, const Real* factors, const From* from, To* to,
                            std::int64_t cols) {
  Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    auto value = factor * at.Load(from + column);
    if (factors != nullptr) value *= at.Load(factors + column);
    Put<kPast>(at, to + column, value);
  });
}

template <class Real, class From, class To>
NORMLAB_INLINE void Scale(Real factor, const Real* factors, const From* from, To* to,
                          std::int64_t cols, bool past = false) {
  past ? ScaleTo<Real, true>(factor, factors, from, to, cols)
       : ScaleTo<Real, false>(factor, factors, from, to, cols);
}

// One task's view of the backward pass.
template <class Real, class X, class G>
struct BackwardTask {
  const normlab_residual_form& form;
  const normlab_residual_backward_args& args;
  bool past;
  Real* scratch;
  void* const* sums;
  double* db;

  Real* Sums(ResidualSum which) const { return static_cast<Real*>(sums[which]); }
  Real* upstream() const { return scratch; }
  Real* branch() const { return scratch + args.g.cols; }
  Real* combined() const { return scratch + 2 * args.g.cols; }

  // dL/dstream with what comes through the next norm.
  template <class Out>
  void Gather(std::int64_t row, Out* out, bool out_past) const {
    const std::int64_t cols = args.g.cols;
    const X* direct = args.dstream.data != nullptr ? Row<X>(args.dstream, row) : nullptr;
    if (form.next.present != 0 && args.dnext.data != nullptr) {
      const NormGradient<X, G, Out, X, Real> gradient{Row<X>(args.stream, row),
                                                      Row<G>(args.dnext, row),
                                                      static_cast<const Real*>(form.next.gain),
                                                      out,
                                                      direct,
                                                      Sums(kNextGain),
                                                      Sums(kNextBias),
                                                      cols};
      gradient.Run(form.next.options, form.next.saved, row, out_past);
    } else if (direct != nullptr) {
      Scale<Real>(Real(1), nullptr, direct, out, cols, out_past);
    } else {
      for (std::int64_t i = 0; i < cols; ++i) out[i] = Out{};
    }
  }

  // stream = x + g with nothing between: both gradients are dL/dstream, which then needs no scratch
  // row and no second pass.
  bool IsPlainSum() const {
    return form.a == 1 && form.post.present == 0 && args.dg.data == nullptr && db == nullptr &&
           Sums(kBranchFactor) == nullptr;
  }

  // Back through the post norm, in place.
  template <class H>
  NORMLAB_INLINE void ThroughPost(const H* h, std::int64_t row) const {
    Combine<Real>(form, Row<X>(args.x, row), h, combined(), args.g.cols);
    const NormGradient<Real, Real, Real, Real, Real> gradient{
        combined(),      upstream(), static_cast<const Real*>(form.post.gain),
        upstream(),      nullptr,    Sums(kPostGain),
        Sums(kPostBias), args.g.cols};
    gradient.Run(form.post.options, form.post.saved, row);
  }

  template <class H>
  NORMLAB_INLINE void FactorGradients(const H* h) const {
    const std::int64_t cols = args.g.cols;
    const Real* factors = static_cast<const Real*>(form.b_columns);
    Real* by_column = Sums(kBranchFactor);
    const Real b = static_cast<Real>(form.b);
    Sum<Real> total;
    Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
      auto part = at.Load(upstream() + column) * at.Load(h + column);
      if (by_column != nullptr) {
        at.Store(by_column + column, at.Load(by_column + column) + b * part);
      }
      if (factors != nullptr) part *= at.Load(factors + column);
      total.Add(at, part);
    });
    if (db != nullptr) *db += static_cast<double>(total.Total());
  }

  void RunRow(std::int64_t row) const {
    const std::int64_t cols = args.g.cols;
    if (IsPlainSum()) return Gather(row, Row<X>(args.dx, row), past);
    const G* g = Row<G>(args.g, row);
    Gather(row, upstream(), false);
    const bool factors_wanted = db != nullptr || Sums(kBranchFactor) != nullptr;
    if (form.post.present != 0 || factors_wanted) {
      WithBranch<Real>(form.branch, g, row, cols, branch(), false, [&](const auto* h) {
        if (form.post.present != 0) ThroughPost(h, row);
        if (factors_wanted) FactorGradients(h);
      });
    }
    Scale<Real>(static_cast<Real>(form.a), nullptr, upstream(), Row<X>(args.dx, row), cols, past);
    if (args.dg.data == nullptr) return;
    const Real* factors = static_cast<const Real*>(form.b_columns);
    G* dg = Row<G>(args.dg, row);
    if (form.branch.present == 0) {
      return Scale<Real>(static_cast<Real>(form.b), factors, upstream(), dg, cols, past);
    }
    Scale<Real>(static_cast<Real>(form.b), factors, upstream(), upstream(), cols);
    const NormGradient<G, Real, G, Real, Real> gradient{g,
                                                        upstream(),
                                                        static_cast<const Real*>(form.branch.gain),
                                                        dg,
                                                        nullptr,
                                                        Sums(kBranchGain),
                                                        Sums(kBranchBias),
                                                        cols};
    gradient.Run(form.branch.options, form.branch.saved, row, past);
  }
};

// ---- entry -------------------------------------------------------------------------------------

struct Forward {
  const normlab_residual_form& form;
  const normlab_residual_forward_args& args;
  std::int64_t begin, end;
  bool past;
  void* scratch;

  template <class Real, class X, class G>
  void Run() {
    for (std::int64_t row = begin; row < end; ++row) {
      ForwardRow<Real, X, G>(form, args, row, past, static_cast<Real*>(scratch));
    }
    if (past) FinishPastCaches();
  }
};

struct Backward {
  const normlab_residual_form& form;
  const normlab_residual_backward_args& args;
  std::int64_t begin, end;
  bool past;
  void* scratch;
  void* const* sums;
  double* db;

  template <class Real, class X, class G>
  void Run() {
    for (int k = 0; k < kResidualSums; ++k) {
      Real* sum = static_cast<Real*>(sums[k]);
      for (std::int64_t i = 0; sum != nullptr && i < args.g.cols; ++i) sum[i] = 0;
    }
    const BackwardTask<Real, X, G> task{form, args, past, static_cast<Real*>(scratch), sums, db};
    for (std::int64_t row = begin; row < end; ++row) task.RunRow(row);
    if (past) FinishPastCaches();
  }
};

void ForwardRows(const normlab_residual_form& form, const normlab_residual_forward_args& args,
                 std::int64_t begin, std::int64_t end, bool past, void* scratch) {
  VisitTypes(args.x.dtype, args.g.dtype, Forward{form, args, begin, end, past, scratch});
}

void BackwardRows(const normlab_residual_form& form, const normlab_residual_backward_args& args,
                  std::int64_t begin, std::int64_t end, bool past, void* scratch, void* const* sums,
                  double* db) {
  VisitTypes(args.dx.dtype, args.g.dtype,
             Backward{form, args, begin, end, past, scratch, sums, db});
}

}  // namespace

extern const ResidualRows kResidualRows;
const ResidualRows kResidualRows = {&ForwardRows, &BackwardRows};

}  // namespace normlab::kernels::NORMLAB_ISA
