// Reading GeoNorm rows: their sums, one row at a time or a block of rows side by side.
#ifndef NORMLAB_KERNELS_GEONORM_GEONORM_SUMS_H_
#define NORMLAB_KERNELS_GEONORM_GEONORM_SUMS_H_

#include "kernels/common/row_access.h"
#include "kernels/geonorm/geonorm_block.h"

namespace normlab::kernels::NORMLAB_ISA {

// What the forward pass learns about a row by reading it.
template <class Real>
struct RowSums {
  Real a, beta, u_squared;
};

// |u|^2 by reading the row again.
template <class Real, class X, class V>
NORMLAB_INLINE Real ReadTangent(const X* x, const V* v, std::int64_t cols, Real beta) {
  Sum<Real> uu;
  ColumnsOf<Real, X, V>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    const auto u = at.Load(v + column) - beta * at.Load(x + column);
    uu.Add(at, u * u);
  });
  return uu.Total();
}

// The sums of one row alone.
template <class Real, class X, class V>
NORMLAB_INLINE RowSums<Real> ReadRow(const X* x, const V* v, std::int64_t cols) {
  Sum<Real> xx, xv;
  ColumnsOf<Real, X, V>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    const auto value = at.Load(x + column);
    xx.Add(at, value * value);
    xv.Add(at, value * at.Load(v + column));
  });
  RowSums<Real> sums{xx.Total(), 0, 0};
  sums.beta = sums.a != 0 ? xv.Total() / sums.a : Real(0);
  sums.u_squared = ReadTangent<Real>(x, v, cols, sums.beta);
  return sums;
}

// Where a row is long, a pass over it asks for what follows it in memory; a short row's block lies
// in the first cache, and asking costs more than it brings.
template <class X>
NORMLAB_INLINE bool IsLong(std::int64_t cols) {
  return cols * static_cast<std::int64_t>(sizeof(X)) >= 1536;
}

// What reading a row once gives.
template <class Real, bool kLong>
struct ForwardDots {
  Sum<Real, kLong ? 4 : 2> xx, xv, vv;
};
template <class Real, bool kLong>
struct UpstreamDots {
  Sum<Real, kLong ? 4 : 2> gx, gv;
};

template <class Real, bool kLong, class X, class V>
NORMLAB_INLINE ForwardDots<Real, kLong> ReadInputs(const X* x, const V* v, std::int64_t cols) {
  ForwardDots<Real, kLong> dots;
  ColumnsOf<Real, X, V>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    if constexpr (kLong) at.FetchAhead(x + column), at.FetchAhead(v + column);
    const auto value = at.Load(x + column), branch = at.Load(v + column);
    dots.xx.Add(at, value * value);
    dots.xv.Add(at, value * branch);
    dots.vv.Add(at, branch * branch);
  });
  return dots;
}

template <class Real, bool kLong, class X, class V>
NORMLAB_INLINE UpstreamDots<Real, kLong> ReadUpstream(const X* g, const X* x, const V* v,
                                                      std::int64_t cols) {
  UpstreamDots<Real, kLong> dots;
  ColumnsOf<Real, X, V>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    if constexpr (kLong) {
      at.FetchAhead(g + column), at.FetchAhead(x + column), at.FetchAhead(v + column);
    }
    const auto upstream = at.Load(g + column);
    dots.gx.Add(at, upstream * at.Load(x + column));
    dots.gv.Add(at, upstream * at.Load(v + column));
  });
  return dots;
}

// The sums of a block's rows, read once: |u|^2 = |v|^2 - beta·<x,v>, which at most doubles the
// relative error where |u|^2 is half of |v|^2 or more. Where v is closer to x, too much cancels,
// and the row is read again.
template <class Real, bool kLong, class X, class V>
NORMLAB_INLINE void ReadBlock(const normlab_matrix& x, const normlab_matrix& v, std::int64_t begin,
                              int count, BlockSums* sums) {
  RowTotals<Real> xx, xv, vv;
  for (int r = 0; r < count; ++r) {
    const auto dots = ReadInputs<Real, kLong>(Row<X>(x, begin + r), Row<V>(v, begin + r), x.cols);
    xx.Leave(r, dots.xx);
    xv.Leave(r, dots.xv);
    vv.Leave(r, dots.vv);
  }
  Real totals[3][kBlockRows];
  xx.Write(totals[0]);
  xv.Write(totals[1]);
  vv.Write(totals[2]);
  std::int64_t apart[kBlockRows];
  bool all_apart = true;
  for (int r = 0; r < kBlockRows; r += kLanes<double>) {
    const auto a = LoadLanes(totals[0] + r), b = LoadLanes(totals[1] + r);
    const auto v_squared = LoadLanes(totals[2] + r);
    const auto beta = b / a, u_squared = v_squared - beta * b;
    const LaneMask enough = u_squared >= 0.5 * v_squared;
    all_apart = all_apart && AllOf(enough);
    StoreLanes(apart + r, enough);
    StoreLanes(sums->a + r, a);
    StoreLanes(sums->beta + r, beta);
    StoreLanes(sums->u_squared + r, u_squared);
  }
  if (all_apart) return;
  for (int r = 0; r < count; ++r) {
    if (apart[r] != 0) continue;
    sums->u_squared[r] = ReadTangent<Real>(Row<X>(x, begin + r), Row<V>(v, begin + r), x.cols,
                                           static_cast<Real>(sums->beta[r]));
  }
}

// Sums over g of one row: <g,x> and <g,u>; u is formed in place, so nothing cancels.
template <class Real, class X, class V>
NORMLAB_INLINE void ReadAlongTangent(const X* g, const X* x, const V* v, std::int64_t cols,
                                     Real beta, Real* gx, Real* gu) {
  Sum<Real> along_x, along_u;
  ColumnsOf<Real, X, V>(cols, [&](auto at, std::int64_t column) NORMLAB_INLINED {
    const auto upstream = at.Load(g + column);
    const auto value = at.Load(x + column);
    along_x.Add(at, upstream * value);
    along_u.Add(at, upstream * (at.Load(v + column) - beta * value));
  });
  *gx = along_x.Total();
  *gu = along_u.Total();
}

// What the forward pass saved of eight rows that lie one after the other.
NORMLAB_INLINE void SplitSaved(const float* saved, float (*columns)[kBlockRows]) {
  Quarter<float> rows[kBlockRows];
  __builtin_memcpy(rows, saved, sizeof(rows));
  const Transposed low(rows), high(rows + 4);
  for (int k = 0; k < 3; ++k) StoreHalves(columns[k], low.columns[k], high.columns[k]);
}
NORMLAB_INLINE void SplitSaved(const double* saved, double (*columns)[kBlockRows]) {
  for (int r = 0; r < kBlockRows; ++r) {
    for (int k = 0; k < 3; ++k) columns[k][r] = saved[r * NORMLAB_GEONORM_SAVED + k];
  }
}

template <class Real>
NORMLAB_INLINE void LoadSaved(const void* saved, std::int64_t begin, int count, BlockSums* sums) {
  const Real* from = static_cast<const Real*>(saved) + begin * NORMLAB_GEONORM_SAVED;
  Real few[kBlockRows * NORMLAB_GEONORM_SAVED] = {};
  if (count < kBlockRows) {
    __builtin_memcpy(few, from,
                     static_cast<std::size_t>(count) * NORMLAB_GEONORM_SAVED * sizeof(Real));
    from = few;
  }
  Real columns[3][kBlockRows];
  SplitSaved(from, columns);
  for (int r = 0; r < kBlockRows; r += kLanes<double>) {
    StoreLanes(sums->a + r, LoadLanes(columns[0] + r));
    StoreLanes(sums->beta + r, LoadLanes(columns[1] + r));
    StoreLanes(sums->u_squared + r, LoadLanes(columns[2] + r));
  }
}

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_SUMS_H_
