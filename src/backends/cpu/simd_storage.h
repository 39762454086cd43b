// Simd of storage: sixteen elements of half precision from memory as floats, and back.
#pragma once

#include "backends/cpu/simd.h"
#include "backends/cpu/storage.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

//! Any sixteen bits, which only move: as the lower halves of sixteen lanes.
struct Word
{
    uint16_t bits;
};
//! What moves elements of T without looking at them.
template <typename T>
using Movable = std::conditional_t<sizeof(T) == 2, Word, T>;

TENON_INLINE float toFloat(float x)
{
    return x;
}
TENON_INLINE float toFloat(Half x)
{
    return _cvtsh_ss(x.bits);
}
TENON_INLINE float toFloat(Bfloat x)
{
    return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}
TENON_INLINE void setFloat(float& to, float x)
{
    to = x;
}
TENON_INLINE void setFloat(Half& to, float x)
{
    to.bits = _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
}
TENON_INLINE void setFloat(Bfloat& to, float x)
{
    auto const bits = __builtin_bit_cast(uint32_t, x);
    bool const isNan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    uint32_t const rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
    to.bits = static_cast<uint16_t>(isNan ? (bits >> 16) | 0x40U : rounded);
}

inline constexpr int kToNearest{_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC};

#ifdef __AVX512F__

TENON_INLINE __m256i loadWords(void const* p)
{
    return _mm256_loadu_si256(static_cast<__m256i const*>(p));
}
TENON_INLINE __m256i loadWords(void const* p, Mask m)
{
    return _mm256_maskz_loadu_epi16(m.m, p);
}
TENON_INLINE void storeWords(void* p, __m256i x)
{
    _mm256_storeu_si256(static_cast<__m256i*>(p), x);
}
TENON_INLINE void storeWords(void* p, __m256i x, Mask m)
{
    _mm256_mask_storeu_epi16(p, m.m, x);
}
TENON_INLINE F16 widenHalves(__m256i x)
{
    return {_mm512_cvtph_ps(x)};
}
TENON_INLINE F16 widenBfloats(__m256i x)
{
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16))};
}
TENON_INLINE F16 widenAny(__m256i x)
{
    return {_mm512_castsi512_ps(_mm512_cvtepu16_epi32(x))};
}
TENON_INLINE __m256i narrowHalves(F16 x)
{
    return _mm512_cvtps_ph(x.v, kToNearest);
}
TENON_INLINE __m256i narrowBfloats(F16 x)
{
    __m512i const bits = _mm512_castps_si512(x.v);
    __m512i const upper = _mm512_srli_epi32(bits, 16);
    __m512i const odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    __m512i const rounded =
        _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF))), 16);
    __m512i const quiet = _mm512_or_si512(upper, _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q), quiet));
}
TENON_INLINE __m256i narrowAny(F16 x)
{
    return _mm512_cvtepi32_epi16(_mm512_castps_si512(x.v));
}

#else

TENON_INLINE __m256i loadWords(void const* p)
{
    return _mm256_loadu_si256(static_cast<__m256i const*>(p));
}
//! By pairs, and an odd last one by itself: nothing behind the last element is read.
TENON_INLINE __m256i loadWords(void const* p, Mask m)
{
    int64_t const count = m.count;
    __m256i const pairs = firstLanes(count >> 1).lo;
    __m256i x = _mm256_maskload_epi32(static_cast<int32_t const*>(p), pairs);
    if ((count & 1) != 0)
    {
        alignas(32) uint16_t words[kLanes];
        _mm256_store_si256(reinterpret_cast<__m256i*>(words), x);
        words[count - 1] = static_cast<uint16_t const*>(p)[count - 1];
        x = _mm256_load_si256(reinterpret_cast<__m256i const*>(words));
    }
    return x;
}
TENON_INLINE void storeWords(void* p, __m256i x)
{
    _mm256_storeu_si256(static_cast<__m256i*>(p), x);
}
TENON_INLINE void storeWords(void* p, __m256i x, Mask m)
{
    int64_t const count = m.count;
    storeFirst(static_cast<float*>(p), _mm256_castsi256_ps(x), count >> 1);
    if ((count & 1) != 0)
    {
        alignas(32) uint16_t words[kLanes];
        _mm256_store_si256(reinterpret_cast<__m256i*>(words), x);
        static_cast<uint16_t*>(p)[count - 1] = words[count - 1];
    }
}
TENON_INLINE F16 widenHalves(__m256i x)
{
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(x)), _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1))};
}
TENON_INLINE F16 widenAny(__m256i x)
{
    return {_mm256_castsi256_ps(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(x))),
        _mm256_castsi256_ps(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(x, 1)))};
}
TENON_INLINE __m256 upper16(__m256 x)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x), 16));
}
TENON_INLINE F16 widenBfloats(__m256i x)
{
    F16 const any = widenAny(x);
    return {upper16(any.lo), upper16(any.hi)};
}
TENON_INLINE __m256i narrowHalves(F16 x)
{
    return _mm256_set_m128i(_mm256_cvtps_ph(x.hi, kToNearest), _mm256_cvtps_ph(x.lo, kToNearest));
}
//! The lower halves of all lanes; the upper ones are zero.
TENON_INLINE __m256i joinWords(__m256i lo, __m256i hi)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(lo, hi), 0xD8);
}
TENON_INLINE __m256i roundBfloats(__m256 x)
{
    __m256i const bits = _mm256_castps_si256(x);
    __m256i const upper = _mm256_srli_epi32(bits, 16);
    __m256i const odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    __m256i const rounded =
        _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
    __m256i const quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    return _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}
TENON_INLINE __m256i narrowBfloats(F16 x)
{
    return joinWords(roundBfloats(x.lo), roundBfloats(x.hi));
}
TENON_INLINE __m256i narrowAny(F16 x)
{
    return joinWords(_mm256_castps_si256(x.lo), _mm256_castps_si256(x.hi));
}

#endif

#define TENON_STORAGE_ACCESS(Type, widenWords, narrowWords)                                                            \
    TENON_INLINE F16 load(Type const* p)                                                                               \
    {                                                                                                                  \
        return widenWords(loadWords(p));                                                                               \
    }                                                                                                                  \
    TENON_INLINE F16 load(Type const* p, Mask m)                                                                       \
    {                                                                                                                  \
        return widenWords(loadWords(p, m));                                                                            \
    }                                                                                                                  \
    TENON_INLINE void store(Type* p, F16 x)                                                                            \
    {                                                                                                                  \
        storeWords(p, narrowWords(x));                                                                                 \
    }                                                                                                                  \
    TENON_INLINE void store(Type* p, F16 x, Mask m)                                                                    \
    {                                                                                                                  \
        storeWords(p, narrowWords(x), m);                                                                              \
    }
TENON_STORAGE_ACCESS(Half, widenHalves, narrowHalves)
TENON_STORAGE_ACCESS(Bfloat, widenBfloats, narrowBfloats)
TENON_STORAGE_ACCESS(Word, widenAny, narrowAny)
#undef TENON_STORAGE_ACCESS

//! Elements as floats; what stands behind them up to a whole vector is overwritten.
template <typename T>
TENON_INLINE void widenRow(T const* from, float* to, int64_t n)
{
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, load(from + i));
    if (i < n)
        store(to + i, load(from + i, firstLanes(n - i)));
}

//! The same, and nothing behind them.
template <typename T>
TENON_INLINE void widenExactly(T const* from, float* to, int64_t n)
{
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, load(from + i));
    if (i < n)
        store(to + i, load(from + i, firstLanes(n - i)), firstLanes(n - i));
}

TENON_INLINE void widenFour(float const* from, float* to)
{
    _mm_storeu_ps(to, _mm_loadu_ps(from));
}
TENON_INLINE void widenFour(Half const* from, float* to)
{
    _mm_storeu_ps(to, _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(from))));
}
TENON_INLINE void widenFour(Bfloat const* from, float* to)
{
    __m128i const wide = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(from)));
    _mm_storeu_ps(to, _mm_castsi128_ps(_mm_slli_epi32(wide, 16)));
}

//! Rows of n elements as floats, one behind the other; a vector behind the last one may be overwritten.
template <typename T>
TENON_INLINE void widenSegments(T const* const* from, int64_t count, int64_t n, float* to)
{
    if (n < kLanes && n % 4 == 0) // A few channels of a group: without masks.
    {
        for (int64_t r = 0; r < count; ++r)
            for (int64_t i = 0; i < n; i += 4, to += 4)
                widenFour(from[r] + i, to);
        return;
    }
    for (int64_t r = 0; r < count; ++r, to += n)
        widenRow(from[r], to, n);
}

//! Floats as elements, exactly so many.
template <typename T>
TENON_INLINE void narrowRow(float const* from, T* to, int64_t n)
{
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, load(from + i));
    if (i < n)
        store(to + i, load(from + i, firstLanes(n - i)), firstLanes(n - i));
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
