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

// Sums that can be trusted as they are; written so that NaN and a row of zeros are not.
NORMLAB_INLINE bool InRange(const RowSums<float>& sums) {
  return sums.a > 1e-30f && sums.a < 1e30f && Absolute(sums.beta) < 1e15f && sums.u_squared < 1e30f;
}
NORMLAB_INLINE bool InRange(const RowSums<double>& sums) { return sums.a != 0; }

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

// The sums of a block's rows, as ReadRow gives them for one: the same additions, those of several
// rows side by side.
template <class Real, class X, class V>
NORMLAB_INLINE void ReadBlock(const normlab_matrix& x, const normlab_matrix& v, std::int64_t begin,
                              int count, BlockSums<Real>* sums) {
  RowTotals<Real, kBlockRows> xx, xv, uu;
  for (int r = 0; r < count; ++r) {
    const X* x_row = Row<X>(x, begin + r);
    const V* v_row = Row<V>(v, begin + r);
    Sum<Real> of_xx, of_xv;
    Columns<Real>(x.cols, [&](auto at, std::int64_t column) {
      const auto value = at.Load(x_row + column);
      of_xx.Add(at, value * value);
      of_xv.Add(at, value * at.Load(v_row + column));
    });
    xx.Leave(r, of_xx);
    xv.Leave(r, of_xv);
  }
  xx.Write(sums->a);
  xv.Write(sums->beta);
  for (int r = 0; r < kBlockRows; ++r) {
    const Real a = sums->a[r];
    sums->beta[r] = a != 0 ? sums->beta[r] / a : Real(0);
  }
  for (int r = 0; r < count; ++r) {
    const X* x_row = Row<X>(x, begin + r);
    const V* v_row = Row<V>(v, begin + r);
    const Real beta = sums->beta[r];
    Sum<Real> of_uu;
    Columns<Real>(x.cols, [&](auto at, std::int64_t column) {
      const auto u = at.Load(v_row + column) - beta * at.Load(x_row + column);
      of_uu.Add(at, u * u);
    });
    uu.Leave(r, of_uu);
  }
  uu.Write(sums->u_squared);
}

// Where a row is long, adding up its lanes costs little beside it, and it had better be read to its
// end while it is in the cache.
constexpr std::int64_t kLongRow = 512;

template <class Real, class X, class V>
NORMLAB_INLINE void ReadLongRows(const normlab_matrix& x, const normlab_matrix& v,
                                 std::int64_t begin, int count, BlockSums<Real>* sums) {
  for (int r = 0; r < count; ++r) {
    const auto row = ReadRow<Real>(Row<X>(x, begin + r), Row<V>(v, begin + r), x.cols);
    sums->a[r] = row.a;
    sums->beta[r] = row.beta;
    sums->u_squared[r] = row.u_squared;
  }
}

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

template <class Real>
NORMLAB_INLINE void LoadSaved(const void* saved, std::int64_t begin, int count,
                              BlockSums<Real>* sums) {
  const Real* from = static_cast<const Real*>(saved) + begin * NORMLAB_GEONORM_SAVED;
  for (int r = 0; r < count; ++r, from += NORMLAB_GEONORM_SAVED) {
    sums->a[r] = from[0];
    sums->beta[r] = from[1];
    sums->u_squared[r] = from[2];
  }
}

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_SUMS_H_
