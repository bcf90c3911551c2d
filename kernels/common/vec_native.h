// The few vector operations for which the compiler's own lowering of generic vectors goes through
// memory or through half-wide registers: bf16 in and out, and the first halvings of a sum. Same
// rules as vec.h; intrinsics are inlined always, so nothing of them reaches the linker.
#ifndef NORMLAB_KERNELS_COMMON_VEC_NATIVE_H_
#define NORMLAB_KERNELS_COMMON_VEC_NATIVE_H_

#include <cstdint>

#include "kernels/common/bf16.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if !defined(NORMLAB_ISA)
#error "vec_native.h is for files that are compiled per instruction set"
#endif

#define NORMLAB_INLINE inline __attribute__((always_inline))
// The same for a lambda, after its parameters.
#define NORMLAB_INLINED __attribute__((always_inline))

namespace normlab::kernels::NORMLAB_ISA {

template <class Element, int kBytes>
struct VectorOf {
  typedef Element type __attribute__((vector_size(kBytes)));
};

template <class Vector, class Element>
NORMLAB_INLINE Vector LoadRaw(const Element* from) {
  Vector result;
  __builtin_memcpy(&result, from, sizeof(result));
  return result;
}

// Whether a comparison of doubles holds in every lane.
template <class Mask>
NORMLAB_INLINE bool AllOf(Mask mask) {
#if defined(__AVX512F__)
  if constexpr (sizeof(mask) == 64) {
    return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) == 0xff;
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(mask) == 32) {
    return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) == 0xf;
  }
#endif
  bool all = true;
  for (unsigned lane = 0; lane < sizeof(mask) / 8; ++lane) all = all && mask[lane] != 0;
  return all;
}

// ---- bf16 --------------------------------------------------------------------------------

// kBytes / 4 bf16 as fp32.
template <int kBytes>
NORMLAB_INLINE typename VectorOf<float, kBytes>::type WidenBf16(const Bf16* from) {
  using Floats = typename VectorOf<float, kBytes>::type;
  using Words = typename VectorOf<std::uint32_t, kBytes>::type;
#if defined(__AVX512F__)
  if constexpr (kBytes == 64) {
    const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    // The masked forms have no operand that the compiler thinks uninitialised; the mask folds away.
    const __m512i words = _mm512_maskz_cvtepu16_epi32(static_cast<__mmask16>(-1), raw);
    return reinterpret_cast<Floats>(reinterpret_cast<Words>(words) << 16);
  }
#endif
#if defined(__AVX2__)
  if constexpr (kBytes == 32) {
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return reinterpret_cast<Floats>(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
  }
#endif
  using Halves = typename VectorOf<std::uint16_t, kBytes / 2>::type;
  return reinterpret_cast<Floats>(__builtin_convertvector(LoadRaw<Halves>(from), Words) << 16);
}

// Words whose upper halves are the values as bf16, rounded to nearest even as Bf16FromFloat does
// it.
template <int kBytes>
NORMLAB_INLINE typename VectorOf<std::uint32_t, kBytes>::type RoundToBf16(
    typename VectorOf<float, kBytes>::type value) {
  using Words = typename VectorOf<std::uint32_t, kBytes>::type;
  const Words bits = reinterpret_cast<Words>(value);
#if defined(__AVX512F__)
  // Two instructions fewer: the last bit that is kept chooses the addend, and NaN is mended in one
  // go (2 for either kind of NaN: the source, made quiet; 0 for all else: the rounded value).
  if constexpr (kBytes == 64) {
    const __m512i words = reinterpret_cast<__m512i>(bits);
    const __mmask16 odd = _mm512_test_epi32_mask(words, _mm512_set1_epi32(0x10000));
    const __m512i down = _mm512_add_epi32(words, _mm512_set1_epi32(0x7fff));
    const __m512i nearest = _mm512_mask_add_epi32(down, odd, words, _mm512_set1_epi32(0x8000));
    return reinterpret_cast<Words>(_mm512_fixupimm_ps(reinterpret_cast<__m512>(nearest),
                                                      reinterpret_cast<__m512>(bits),
                                                      _mm512_set1_epi32(0x22), 0));
  }
#endif
  const Words rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return value != value ? bits | 0x400000 : rounded;
}

#if defined(__AVX512BF16__)
// The processor's own rounding gives the same bits but for subnormals, which it takes for zeros.
NORMLAB_INLINE bool AnySubnormal(__m512 value) {
  constexpr int kSubnormal = 0x20;
  return __builtin_expect(_mm512_fpclass_ps_mask(value, kSubnormal) != 0, 0);
}
#endif

// Two vectors of fp32 as one of bf16: those of `even` in the lower half of each word.
template <int kBytes>
NORMLAB_INLINE typename VectorOf<std::uint32_t, kBytes>::type TwinsToBf16(
    typename VectorOf<float, kBytes>::type even, typename VectorOf<float, kBytes>::type odd) {
#if defined(__AVX512BF16__)
  const __m512 low = reinterpret_cast<__m512>(even), high = reinterpret_cast<__m512>(odd);
  if (!AnySubnormal(low) && !AnySubnormal(high)) {
    const __m512i halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return reinterpret_cast<typename VectorOf<std::uint32_t, kBytes>::type>(
        _mm512_maskz_permutexvar_epi16(static_cast<__mmask32>(-1), order, halves));
  }
#endif
  return (RoundToBf16<kBytes>(even) >> 16) | (RoundToBf16<kBytes>(odd) & 0xffff0000);
}

// kBytes / 4 fp32 as bf16.
template <int kBytes>
NORMLAB_INLINE typename VectorOf<std::uint16_t, kBytes / 2>::type NarrowToBf16(
    typename VectorOf<float, kBytes>::type value) {
  using Halves = typename VectorOf<std::uint16_t, kBytes / 2>::type;
#if defined(__AVX512BF16__)
  if constexpr (kBytes == 64) {
    const __m512 floats = reinterpret_cast<__m512>(value);
    if (!AnySubnormal(floats)) return reinterpret_cast<Halves>(_mm512_cvtneps_pbh(floats));
  }
#endif
  const auto chosen = RoundToBf16<kBytes>(value) >> 16;
#if defined(__AVX512F__)
  if constexpr (kBytes == 64) {
    return reinterpret_cast<Halves>(
        _mm512_maskz_cvtepi32_epi16(static_cast<__mmask16>(-1), reinterpret_cast<__m512i>(chosen)));
  }
#endif
#if defined(__AVX2__)
  if constexpr (kBytes == 32) {
    const __m256i words = reinterpret_cast<__m256i>(chosen);
    // Packs within each half, then brings the halves' results together.
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08);
    return reinterpret_cast<Halves>(_mm256_castsi256_si128(packed));
  }
#endif
  return __builtin_convertvector(chosen, Halves);
}

// ---- fp32 and fp64 -----------------------------------------------------------------------

// kBytes / 8 fp32 as fp64, and back.
template <int kBytes>
NORMLAB_INLINE typename VectorOf<double, kBytes>::type WidenFloats(const float* from) {
  using Doubles = typename VectorOf<double, kBytes>::type;
#if defined(__AVX512F__)
  if constexpr (kBytes == 64) {
    return reinterpret_cast<Doubles>(
        _mm512_maskz_cvtps_pd(static_cast<__mmask8>(-1), _mm256_loadu_ps(from)));
  }
#endif
  using Floats = typename VectorOf<float, kBytes / 2>::type;
  return __builtin_convertvector(LoadRaw<Floats>(from), Doubles);
}
template <int kBytes>
NORMLAB_INLINE void NarrowDoubles(float* to, typename VectorOf<double, kBytes>::type value) {
#if defined(__AVX512F__)
  if constexpr (kBytes == 64) {
    return _mm256_storeu_ps(
        to, _mm512_maskz_cvtpd_ps(static_cast<__mmask8>(-1), reinterpret_cast<__m512d>(value)));
  }
#endif
  const auto narrow = __builtin_convertvector(value, typename VectorOf<float, kBytes / 2>::type);
  __builtin_memcpy(to, &narrow, sizeof(narrow));
}

// ---- rounding ----------------------------------------------------------------------------

// The value as a register of its own would hold it: no product melts into the addition after it.
template <class Value>
NORMLAB_INLINE Value Rounded(Value value) {
#if defined(__x86_64__)
  asm("" : "+v"(value));
#else
  asm("" : "+m"(value));
#endif
  return value;
}

// ---- past the caches ---------------------------------------------------------------------

// The vector goes to memory without a place in the caches; `to` is a multiple of its size. Other
// threads see it after FinishPastCaches().
template <class Vector>
NORMLAB_INLINE void StorePastCaches(void* to, Vector value) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Vector) == 64) {
    return _mm512_stream_si512(static_cast<__m512i*>(to), reinterpret_cast<__m512i>(value));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(Vector) == 32) {
    return _mm256_stream_si256(static_cast<__m256i*>(to), reinterpret_cast<__m256i>(value));
  }
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(Vector) == 16) {
    return _mm_stream_si128(static_cast<__m128i*>(to), reinterpret_cast<__m128i>(value));
  }
#endif
  __builtin_memcpy(to, &value, sizeof(value));
}

NORMLAB_INLINE void FinishPastCaches() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// ---- sums --------------------------------------------------------------------------------

// What is left of a sum before its last two or four lanes are added.
template <class Real>
using Quarter = typename VectorOf<Real, 16>::type;

NORMLAB_INLINE Quarter<float> FoldLanes(Quarter<float> value) { return value; }
NORMLAB_INLINE Quarter<double> FoldLanes(Quarter<double> value) { return value; }

// Shuffles, for the compiler turns casts and copies of halves into stores and loads.
NORMLAB_INLINE Quarter<float> FoldLanes(typename VectorOf<float, 32>::type value) {
  return __builtin_shufflevector(value, value, 0, 1, 2, 3) +
         __builtin_shufflevector(value, value, 4, 5, 6, 7);
}
NORMLAB_INLINE Quarter<double> FoldLanes(typename VectorOf<double, 32>::type value) {
  return __builtin_shufflevector(value, value, 0, 1) + __builtin_shufflevector(value, value, 2, 3);
}
NORMLAB_INLINE Quarter<float> FoldLanes(typename VectorOf<float, 64>::type value) {
  return FoldLanes(__builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7) +
                   __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15));
}
NORMLAB_INLINE Quarter<double> FoldLanes(typename VectorOf<double, 64>::type value) {
  return FoldLanes(__builtin_shufflevector(value, value, 0, 1, 2, 3) +
                   __builtin_shufflevector(value, value, 4, 5, 6, 7));
}

NORMLAB_INLINE float AddQuarter(Quarter<float> value) {
  return (value[0] + value[2]) + (value[1] + value[3]);
}
NORMLAB_INLINE double AddQuarter(Quarter<double> value) { return value[0] + value[1]; }

// The four columns of four rows of four, as rows. Each row is held in a register: the compiler
// would read several at once from where they were just stored apart, and wait for those stores.
struct Transposed {
  Quarter<float> columns[4];

  NORMLAB_INLINE explicit Transposed(const Quarter<float>* rows) {
    const auto p = Rounded(rows[0]), q = Rounded(rows[1]), r = Rounded(rows[2]),
               s = Rounded(rows[3]);
    const auto low_pq = __builtin_shufflevector(p, q, 0, 4, 1, 5);
    const auto low_rs = __builtin_shufflevector(r, s, 0, 4, 1, 5);
    const auto high_pq = __builtin_shufflevector(p, q, 2, 6, 3, 7);
    const auto high_rs = __builtin_shufflevector(r, s, 2, 6, 3, 7);
    columns[0] = __builtin_shufflevector(low_pq, low_rs, 0, 1, 4, 5);
    columns[1] = __builtin_shufflevector(low_pq, low_rs, 2, 3, 6, 7);
    columns[2] = __builtin_shufflevector(high_pq, high_rs, 0, 1, 4, 5);
    columns[3] = __builtin_shufflevector(high_pq, high_rs, 2, 3, 6, 7);
  }
};

NORMLAB_INLINE void StoreHalves(float* to, Quarter<float> low, Quarter<float> high) {
  const auto both = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  __builtin_memcpy(to, &both, sizeof(both));
}

// AddQuarter of eight quarters at once: the same additions, side by side instead of one after the
// other.
NORMLAB_INLINE void AddQuarters(const Quarter<float>* quarters, float* totals) {
  const Transposed low(quarters), high(quarters + 4);
  const auto* l = low.columns;
  const auto* h = high.columns;
  StoreHalves(totals, (l[0] + l[2]) + (l[1] + l[3]), (h[0] + h[2]) + (h[1] + h[3]));
}
NORMLAB_INLINE void AddQuarters(const Quarter<double>* quarters, double* totals) {
  for (int i = 0; i < 8; ++i) totals[i] = AddQuarter(quarters[i]);
}

}  // namespace normlab::kernels::NORMLAB_ISA

#endif  // NORMLAB_KERNELS_COMMON_VEC_NATIVE_H_
