// Vectors of one instruction set. Included only by files that are compiled once per level with
// NORMLAB_ISA naming the level: everything lies in that level's own namespace, and nothing from
// the standard library is used, so that the linker cannot pick AVX-512 code for an older CPU.
//
// A row is walked with Columns(cols, body): body is called with a tag (Wide<Real, slot> or
// Single<Real>) and a column, and the same expression serves whole vectors and the tail. Sums keep
// four vector slots and one tail, combined in a fixed order: a row's result depends on nothing
// but the row and the level.
#ifndef NORMLAB_KERNELS_COMMON_VEC_H_
#define NORMLAB_KERNELS_COMMON_VEC_H_

#include <cstdint>

#include "kernels/common/vec_native.h"

namespace normlab::kernels::NORMLAB_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class Real>
using Vec = typename VectorOf<Real, kVectorBytes>::type;

template <class Real>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Real));

// How far ahead a pass over a long row asks for memory, into the second cache and not the first:
// the processor's own prefetching pauses while a row is worked on in the first, and fills of that
// one would wait in line with the pass's own loads and stores.
constexpr std::uintptr_t kAheadBytes = 2048;

// A whole vector of Reals starting at a column; slot is the accumulator that sums use.
template <class RealType, int kSlot>
struct Wide {
  using Real = RealType;
  using Value = Vec<Real>;

  static NORMLAB_INLINE Value Load(const Real* from) { return LoadRaw<Value>(from); }

  template <class Stored>
  static NORMLAB_INLINE Value Load(const Stored* from) {
    if constexpr (sizeof(Stored) == 2) {
      const auto wide = WidenBf16<kLanes<Real> * 4>(from);
      if constexpr (sizeof(Real) == 4) return wide;
      if constexpr (sizeof(Real) == 8) return __builtin_convertvector(wide, Value);
    } else {  // float stored, double arithmetic
      using Narrow = typename VectorOf<Stored, kLanes<Real> * 4>::type;
      return __builtin_convertvector(LoadRaw<Narrow>(from), Value);
    }
  }

  static NORMLAB_INLINE void Store(Real* to, Value value) {
    __builtin_memcpy(to, &value, sizeof(value));
  }

  template <class Stored>
  static NORMLAB_INLINE void Store(Stored* to, Value value) {
    using Floats = typename VectorOf<float, kLanes<Real> * 4>::type;
    const Floats narrow = __builtin_convertvector(value, Floats);
    if constexpr (sizeof(Stored) == 2) {
      StoreBf16<kLanes<Real> * 4>(to, narrow);
    } else {
      __builtin_memcpy(to, &narrow, sizeof(narrow));
    }
  }

  static NORMLAB_INLINE Value Absolute(Value value) { return value < 0 ? -value : value; }
  static NORMLAB_INLINE Value Larger(Value a, Value b) { return a < b ? b : a; }

  // Asks once a cache line for what lies further on; see kAheadBytes.
  template <class Stored>
  static NORMLAB_INLINE void FetchAhead(const Stored* from) {
    constexpr std::int64_t kOffset =
        kSlot * kLanes<Real> * static_cast<std::int64_t>(sizeof(Stored));
    if constexpr (kOffset % 64 == 0) {
      __builtin_prefetch(
          reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + kAheadBytes), 0,
          1);
    }
  }
};

// One column of the tail.
template <class RealType>
struct Single {
  using Real = RealType;
  using Value = Real;

  static NORMLAB_INLINE Value Load(const double* from) { return static_cast<Real>(*from); }
  static NORMLAB_INLINE Value Load(const float* from) { return static_cast<Real>(*from); }
  static NORMLAB_INLINE Value Load(const Bf16* from) {
    return static_cast<Real>(Bf16ToFloat(*from));
  }
  static NORMLAB_INLINE void Store(double* to, Value value) { *to = static_cast<double>(value); }
  static NORMLAB_INLINE void Store(float* to, Value value) { *to = static_cast<float>(value); }
  static NORMLAB_INLINE void Store(Bf16* to, Value value) {
    *to = Bf16FromFloat(static_cast<float>(value));
  }
  static NORMLAB_INLINE Value Absolute(Value value) { return value < 0 ? -value : value; }
  static NORMLAB_INLINE Value Larger(Value a, Value b) { return a < b ? b : a; }
  template <class Stored>
  static NORMLAB_INLINE void FetchAhead(const Stored*) {}
};

template <class Real, class Body>
NORMLAB_INLINE void Columns(std::int64_t cols, Body body) {
  constexpr std::int64_t kStep = kLanes<Real>;
  std::int64_t column = 0;
  for (; column + 4 * kStep <= cols; column += 4 * kStep) {
    body(Wide<Real, 0>{}, column);
    body(Wide<Real, 1>{}, column + kStep);
    body(Wide<Real, 2>{}, column + 2 * kStep);
    body(Wide<Real, 3>{}, column + 3 * kStep);
  }
  for (; column + kStep <= cols; column += kStep) body(Wide<Real, 0>{}, column);
  for (; column < cols; ++column) body(Single<Real>{}, column);
}

template <class Real>
struct Sum {
  Vec<Real> lanes[4] = {};
  Real tail = 0;

  template <int kSlot>
  NORMLAB_INLINE void Add(Wide<Real, kSlot>, Vec<Real> value) {
    lanes[kSlot] += value;
  }
  NORMLAB_INLINE void Add(Single<Real>, Real value) { tail += value; }

  NORMLAB_INLINE Quarter<Real> Folded() const {
    return FoldLanes((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
  }
  NORMLAB_INLINE Real Total() const { return AddQuarter(Folded()) + tail; }
};

// The same sum over several rows: each row leaves its quarter and its tail, the totals come
// together.
template <class Real, int kRows>
struct RowTotals {
  Quarter<Real> quarters[kRows] = {};
  Real tails[kRows] = {};

  NORMLAB_INLINE void Leave(int row, const Sum<Real>& sum) {
    quarters[row] = sum.Folded();
    tails[row] = sum.tail;
  }
  NORMLAB_INLINE void Write(Real* totals) const {
    AddQuarters<kRows>(quarters, totals);
    for (int row = 0; row < kRows; ++row) totals[row] += tails[row];
  }
};

// The stream/branch pairs of the C interface, as template arguments of visit.template Run<...>().
template <class Visitor>
NORMLAB_INLINE void VisitTypes(int stream, int branch, Visitor visit) {
  constexpr int kF64 = 1, kBf16 = 2;
  if (stream == kF64) {
    visit.template Run<double, double, double>();
  } else if (stream == kBf16) {
    visit.template Run<float, Bf16, Bf16>();
  } else if (branch == kBf16) {
    visit.template Run<float, float, Bf16>();
  } else {
    visit.template Run<float, float, float>();
  }
}

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_COMMON_VEC_H_
