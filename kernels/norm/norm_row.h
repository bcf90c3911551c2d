// One row of LayerNorm or RMSNorm, for files that are compiled per instruction set; the residual
// kernels use these rows too. Compiled without FMAs, so that the same expression gives the same
// bits in every loop that holds it (CMakeLists.txt). Mean first, then the centred squares, both
// from the row in the L1 cache: E[x^2] - E[x]^2 would go negative. Statistics that leave the safe
// range of fp32 are worked out again in fp64.
#ifndef NORMLAB_KERNELS_NORM_NORM_ROW_H_
#define NORMLAB_KERNELS_NORM_NORM_ROW_H_

#include "kernels/common/portable_math.h"
#include "kernels/common/row_access.h"
#include "kernels/norm/relaxed_eps.h"

namespace normlab::kernels::NORMLAB_ISA {

struct NormStatistics {
  double mean, rstd;
};

template <class Real, class X>
NORMLAB_INLINE double LargestMagnitude(const X* x, std::int64_t cols) {
  Vec<Real> wide = {};
  Real tail = 0;
  std::int64_t column = 0;
  for (; column + kLanes<Real> <= cols; column += kLanes<Real>) {
    using At = Wide<Real, 0>;
    wide = At::Larger(wide, At::Absolute(At::Load(x + column)));
  }
  for (; column < cols; ++column) {
    using At = Single<Real>;
    tail = At::Larger(tail, At::Absolute(At::Load(x + column)));
  }
  for (int lane = 0; lane < kLanes<Real>; ++lane) tail = tail < wide[lane] ? wide[lane] : tail;
  return static_cast<double>(tail);
}

// Mean and mean square about it (about 0 for RMSNorm).
template <class Real, class X>
NORMLAB_INLINE void Moments(bool centred, const X* x, std::int64_t cols, Real* mean,
                            Real* variance) {
  *mean = 0;
  if (centred) {
    Sum<Real> sum;
    Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
      at.FetchAhead(x + column);
      sum.Add(at, at.Load(x + column));
    });
    *mean = sum.Total() / static_cast<Real>(cols);
  }
  const Real middle = *mean;
  Sum<Real> squares;
  Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    const auto deviation = at.Load(x + column) - middle;
    squares.Add(at, deviation * deviation);
  });
  *variance = squares.Total() / static_cast<Real>(cols);
}

template <class Real, class X>
NORMLAB_INLINE NormStatistics RowStatistics(const normlab_norm_options& options, const X* x,
                                            std::int64_t cols) {
  const bool centred = options.kind == NORMLAB_LAYERNORM;
  double eps = options.eps;
  if (options.pb_relax != 0) eps = RelaxedEps(eps, LargestMagnitude<Real>(x, cols));
  Real mean, variance;
  Moments<Real>(centred, x, cols, &mean, &variance);
  double total = static_cast<double>(variance) + eps;
  double middle = mean;
  if (sizeof(Real) == 4 && !(variance < 1e30f && (total > 1e-25 || variance > 1e-25f))) {
    double mean64, variance64;
    Moments<double>(centred, x, cols, &mean64, &variance64);
    middle = mean64;
    total = variance64 + eps;
  }
  return {middle, 1 / Sqrt(total)};
}

// 1/rstd beyond fp32 (a row of tiny values and eps = 0): then the arithmetic must be fp64.
NORMLAB_INLINE bool FitsFloat(const NormStatistics& row) {
  return row.rstd < 1e30 && row.rstd > 1e-30;
}

// y = (x - mean)·rstd·gain + bias; a null gain means ones, a null bias zeros.
template <class Real, bool kPast, class X, class Y, class Parameter>
NORMLAB_INLINE void ApplyNorm(const X* x, const NormStatistics& row, const Parameter* gain,
                              const Parameter* bias, Y* y, std::int64_t cols) {
  const Real mean = static_cast<Real>(row.mean), rstd = static_cast<Real>(row.rstd);
  if (gain != nullptr && bias != nullptr) {
    Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
      at.FetchAhead(x + column);
      const auto unit = (at.Load(x + column) - mean) * rstd;
      Put<kPast>(at, y + column, unit * at.Load(gain + column) + at.Load(bias + column));
    });
  } else if (gain != nullptr) {
    Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
      at.FetchAhead(x + column);
      Put<kPast>(at, y + column, (at.Load(x + column) - mean) * rstd * at.Load(gain + column));
    });
  } else {
    Columns<Real>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
      auto value = (at.Load(x + column) - mean) * rstd;
      if (bias != nullptr) value += at.Load(bias + column);
      Put<kPast>(at, y + column, value);
    });
  }
}

// Mean over the row of h and of h·unit, h = g·gain, unit = (x - mean)·rstd.
template <class Real>
struct NormDots {
  Real of_one, of_unit;
};

// y = norm(x) in the arithmetic that the row needs, past the caches if asked for (past_caches.h);
// returns the statistics.
template <class Real, class X, class Y>
NORMLAB_INLINE NormStatistics NormalizeRow(const normlab_norm_options& options, const X* x,
                                           const void* gain, const void* bias, Y* y,
                                           std::int64_t cols, bool past = false) {
  const NormStatistics statistics = RowStatistics<Real>(options, x, cols);
  const Real* gains = static_cast<const Real*>(gain);
  const Real* biases = static_cast<const Real*>(bias);
  if (sizeof(Real) != 8 && !FitsFloat(statistics)) {
    ApplyNorm<double, false>(x, statistics, gains, biases, y, cols);
  } else if (past) {
    ApplyNorm<Real, true>(x, statistics, gains, biases, y, cols);
  } else {
    ApplyNorm<Real, false>(x, statistics, gains, biases, y, cols);
  }
  return statistics;
}

template <class Real>
NORMLAB_INLINE void KeepStatistics(const NormStatistics& statistics, void* saved,
                                   std::int64_t row) {
  if (saved == nullptr) return;
  Real* out = static_cast<Real*>(saved) + row * NORMLAB_NORM_SAVED;
  out[0] = static_cast<Real>(statistics.mean);
  out[1] = static_cast<Real>(statistics.rstd);
}

struct Always {
  constexpr explicit operator bool() const { return true; }
};
struct Never {
  constexpr explicit operator bool() const { return false; }
};

// One row of a backward pass. g is the upstream row, x what was normalised; `out` takes dL/dx plus
// `add` (null: nothing), and may be g or add itself. dgain and dbias (null: not wanted) are added
// to.
template <class X, class G, class Out, class Add, class Kept>
struct NormGradient {
  const X* x;
  const G* g;
  const Kept* gain;
  Out* out;
  const Add* add;
  Kept* dgain;
  Kept* dbias;
  std::int64_t cols;

  template <class Real>
  NORMLAB_INLINE void RunIn(bool centred, const NormStatistics& row, bool past) const {
    if (sizeof(Real) == sizeof(Kept) && gain != nullptr) {
      const NormDots<Real> dots = ReadWithGain<Real>(centred, row);
      add != nullptr ? WriteTo<Real>(row, dots, Always{}, Always{}, past)
                     : WriteTo<Real>(row, dots, Always{}, Never{}, past);
    } else {
      const NormDots<Real> dots =
          Read<Real>(centred, row, gain != nullptr, dgain != nullptr, dbias != nullptr);
      WriteTo<Real>(row, dots, gain != nullptr, add != nullptr, past);
    }
  }

  // The flags are bools, or constants of a type of their own: with questions inside, these loops
  // took up to twice as long.
  template <class Real>
  NORMLAB_INLINE NormDots<Real> ReadWithGain(bool centred, const NormStatistics& row) const {
    if (dgain == nullptr && dbias == nullptr) {
      return Read<Real>(centred, row, Always{}, Never{}, Never{});
    }
    if (dgain != nullptr && dbias != nullptr) {
      return Read<Real>(centred, row, Always{}, Always{}, Always{});
    }
    return dbias == nullptr ? Read<Real>(centred, row, Always{}, Always{}, Never{})
                            : Read<Real>(centred, row, Always{}, Never{}, Always{});
  }

  template <class Real, class Gain, class GainSums, class BiasSums>
  NORMLAB_INLINE NormDots<Real> Read(bool centred, const NormStatistics& row, Gain has_gain,
                                     GainSums of_gain, BiasSums of_bias) const {
    const Real mean = static_cast<Real>(row.mean), rstd = static_cast<Real>(row.rstd);
    Sum<Real> of_one, of_unit;
    Columns<Real>(cols, [&, x = x, g = g, gain = gain, dgain = dgain, dbias = dbias](
                            auto at, auto column) NORMLAB_INLINED {
      at.FetchAhead(g + column), at.FetchAhead(x + column);
      const auto upstream = at.Load(g + column);
      const auto unit = (at.Load(x + column) - mean) * rstd;
      auto weighted = upstream;
      if (has_gain) weighted *= at.Load(gain + column);
      of_one.Add(at, weighted);
      of_unit.Add(at, weighted * unit);
      if (of_gain) at.Store(dgain + column, at.Load(dgain + column) + upstream * unit);
      if (of_bias) at.Store(dbias + column, at.Load(dbias + column) + upstream);
    });
    const Real share = Real(1) / static_cast<Real>(cols);
    return {centred ? of_one.Total() * share : Real(0), of_unit.Total() * share};
  }

  template <class Real, class Gain, class Addend>
  NORMLAB_INLINE void WriteTo(const NormStatistics& row, const NormDots<Real>& dots, Gain has_gain,
                              Addend has_addend, bool past) const {
    past ? Write<Real, true>(row, dots, has_gain, has_addend)
         : Write<Real, false>(row, dots, has_gain, has_addend);
  }

  template <class Real, bool kPast, class Gain, class Addend>
  NORMLAB_INLINE void Write(const NormStatistics& row, const NormDots<Real>& dots, Gain has_gain,
                            Addend has_addend) const {
    const Real mean = static_cast<Real>(row.mean), rstd = static_cast<Real>(row.rstd);
    Columns<Real>(cols, [=, *this](auto at, std::int64_t column) NORMLAB_INLINED {
      at.FetchAhead(g + column), at.FetchAhead(x + column);
      auto weighted = at.Load(g + column);
      if (has_gain) weighted *= at.Load(gain + column);
      const auto unit = (at.Load(x + column) - mean) * rstd;
      auto result = rstd * (weighted - dots.of_one - unit * dots.of_unit);
      if (has_addend) result += at.Load(add + column);
      Put<kPast>(at, out + column, result);
    });
  }

  // `saved` from the forward pass; statistics that fp32 could not hold are worked out again.
  NORMLAB_INLINE void Run(const normlab_norm_options& options, const void* saved, std::int64_t row,
                          bool past = false) const {
    const bool centred = options.kind == NORMLAB_LAYERNORM;
    const Kept* kept = static_cast<const Kept*>(saved) + row * NORMLAB_NORM_SAVED;
    const NormStatistics statistics{kept[0], kept[1]};
    if (sizeof(Kept) == 8 || FitsFloat(statistics)) {
      RunIn<Kept>(centred, statistics, past);
    } else {
      RunIn<double>(centred, RowStatistics<Kept>(options, x, cols), false);
    }
  }
};

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_NORM_NORM_ROW_H_
