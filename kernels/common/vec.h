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
#include "kernels/include/normlab_kernels.h"

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
constexpr std::uintptr_t kAheadBytes = 1536;

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

  // The value as it lies in memory.
  template <class Stored>
  static NORMLAB_INLINE auto Packed(Value value) {
    using Floats = typename VectorOf<float, kLanes<Real> * 4>::type;
    if constexpr (sizeof(Stored) == sizeof(Real)) return value;
    if constexpr (sizeof(Stored) != sizeof(Real)) {
      const Floats narrow = __builtin_convertvector(value, Floats);
      if constexpr (sizeof(Stored) == 2) return NarrowToBf16<kLanes<Real> * 4>(narrow);
      if constexpr (sizeof(Stored) == 4) return narrow;
    }
  }
  template <class Stored>
  static NORMLAB_INLINE void Store(Stored* to, Value value) {
    const auto packed = Packed<Stored>(value);
    __builtin_memcpy(to, &packed, sizeof(packed));
  }
  template <class Stored>
  static NORMLAB_INLINE void StorePast(Stored* to, Value value) {
    StorePastCaches(to, Packed<Stored>(value));
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
          2);
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
  template <class Stored>
  static NORMLAB_INLINE void StorePast(Stored* to, Value value) {
    Store(to, value);
  }
  static NORMLAB_INLINE Value Absolute(Value value) { return value < 0 ? -value : value; }
  static NORMLAB_INLINE Value Larger(Value a, Value b) { return a < b ? b : a; }
  template <class Stored>
  static NORMLAB_INLINE void FetchAhead(const Stored*) {}
};

// The values of two vectors of consecutive bf16 columns: those of even and those of odd columns.
// Widening these is a shift and a mask of the whole register, and packing them as cheap, where
// widening in order sends every half through the shuffles.
struct Twins {
  Vec<float> even, odd;

  friend NORMLAB_INLINE Twins operator+(Twins a, Twins b) {
    return {a.even + b.even, a.odd + b.odd};
  }
  friend NORMLAB_INLINE Twins operator-(Twins a, Twins b) {
    return {a.even - b.even, a.odd - b.odd};
  }
  friend NORMLAB_INLINE Twins operator*(Twins a, Twins b) {
    return {a.even * b.even, a.odd * b.odd};
  }
  friend NORMLAB_INLINE Twins operator*(float a, Twins b) { return {a * b.even, a * b.odd}; }
};

// Twins starting at a column; sums use the accumulators slot and slot + 1.
template <int kSlot>
struct Paired {
  using Real = float;
  using Value = Twins;
  using Words = typename VectorOf<std::uint32_t, kVectorBytes>::type;

  static NORMLAB_INLINE Twins Load(const Bf16* from) {
    const auto words = LoadRaw<Words>(from);
    return {reinterpret_cast<Vec<float>>(words << 16),
            reinterpret_cast<Vec<float>>(words & 0xffff0000)};
  }
  static NORMLAB_INLINE Words Packed(Twins value) {
    return TwinsToBf16<kVectorBytes>(value.even, value.odd);
  }
  static NORMLAB_INLINE void Store(Bf16* to, Twins value) {
    const Words words = Packed(value);
    __builtin_memcpy(to, &words, sizeof(words));
  }
  static NORMLAB_INLINE void StorePast(Bf16* to, Twins value) {
    StorePastCaches(to, Packed(value));
  }
  static NORMLAB_INLINE void FetchAhead(const Bf16* from) { Wide<float, kSlot>::FetchAhead(from); }
};

// Stores at a column, past the caches or not.
template <bool kPast, class At, class Stored>
NORMLAB_INLINE void Put(At at, Stored* to, typename At::Value value) {
  kPast ? at.StorePast(to, value) : at.Store(to, value);
}

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

// The same walk where body loads and stores rows of the types Stored: in twins if all are bf16.
template <class Real, class... Stored, class Body>
NORMLAB_INLINE void ColumnsOf(std::int64_t cols, Body body) {
  if constexpr (sizeof(Real) == 4 && ((sizeof(Stored) == 2) && ...)) {
    constexpr std::int64_t kStep = kLanes<Real>;
    std::int64_t column = 0;
    for (; column + 4 * kStep <= cols; column += 4 * kStep) {
      body(Paired<0>{}, column);
      body(Paired<2>{}, column + 2 * kStep);
    }
    for (; column + kStep <= cols; column += kStep) body(Wide<Real, 0>{}, column);
    for (; column < cols; ++column) body(Single<Real>{}, column);
  } else {
    Columns<Real>(cols, body);
  }
}

// Four accumulators, or two where rows are short: there additions hardly wait for each other, and
// two are added sooner.
template <class Real, int kSlots = 4>
struct Sum {
  Vec<Real> lanes[kSlots] = {};
  Real tail = 0;

  template <int kSlot>
  NORMLAB_INLINE void Add(Wide<Real, kSlot>, Vec<Real> value) {
    lanes[kSlot % kSlots] += value;
  }
  template <int kSlot>
  NORMLAB_INLINE void Add(Paired<kSlot>, Twins value) {
    lanes[kSlot % kSlots] += value.even;
    lanes[(kSlot + 1) % kSlots] += value.odd;
  }
  NORMLAB_INLINE void Add(Single<Real>, Real value) { tail += value; }

  NORMLAB_INLINE Quarter<Real> Folded() const {
    if constexpr (kSlots == 2) return FoldLanes(lanes[0] + lanes[1]);
    if constexpr (kSlots == 4) return FoldLanes((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
  }
  NORMLAB_INLINE Real Total() const { return AddQuarter(Folded()) + tail; }
};

// Such sums over eight rows: each row leaves a quarter of its own, the totals come together. Rows
// that left nothing get anything.
template <class Real>
struct RowTotals {
  Quarter<Real> quarters[8];

  template <int kSlots>
  NORMLAB_INLINE void Leave(int row, const Sum<Real, kSlots>& sum) {
    quarters[row] = sum.Folded() + Quarter<Real>{sum.tail};
  }
  NORMLAB_INLINE void Write(Real* totals) const { AddQuarters(quarters, totals); }
};

// The stream/branch pairs of the C interface, as template arguments of visit.template Run<...>().
template <class Visitor>
NORMLAB_INLINE void VisitTypes(normlab_dtype stream, normlab_dtype branch, Visitor visit) {
  if (stream == NORMLAB_F64) {
    visit.template Run<double, double, double>();
  } else if (stream == NORMLAB_BF16) {
    visit.template Run<float, Bf16, Bf16>();
  } else if (branch == NORMLAB_BF16) {
    visit.template Run<float, float, Bf16>();
  } else {
    visit.template Run<float, float, float>();
  }
}

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_COMMON_VEC_H_
