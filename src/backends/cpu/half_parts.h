// Numbers of float16 as sums of two of bfloat16, for instructions that multiply these. Included by files that are
// compiled once per instruction set.
#pragma once

#include "backends/cpu/simd.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Of 32 numbers the first eight bits, and the other three. Both are exact. A low part is never zero unless the number
//! is: zero times an infinity of the other operand would be no number. What stands for zero, some 2^-85 of the number,
//! vanishes beside any product of halves.
struct HalfParts
{
    __m512i high;
    __m512i low;
};

//! The lower part of sixteen floats that are halves.
TENON_INLINE __m512 restOf(__m512 x, __m512 high)
{
    constexpr int kInfinities{0x18};
    __m512 const sign = _mm512_and_ps(x, _mm512_set1_ps(-0.0F));
    __m512 const least = _mm512_or_ps(sign, _mm512_set1_ps(0x1p-100F));
    __mmask16 const isThere = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    __m512 const rest = _mm512_maskz_add_ps(isThere, _mm512_sub_ps(x, high), least);
    return _mm512_mask_mov_ps(rest, _mm512_fpclass_ps_mask(x, kInfinities), x);
}

//! Of any numbers, by way of floats.
__attribute__((noinline)) HalfParts partsOfAny(__m512i halves)
{
    __m512i const firstBits = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
    __m512 const first = _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
    __m512 const second = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
    __m512i const firstHigh = _mm512_and_si512(_mm512_castps_si512(first), firstBits);
    __m512i const secondHigh = _mm512_and_si512(_mm512_castps_si512(second), firstBits);
    __m512i const firstLow = _mm512_castps_si512(restOf(first, _mm512_castsi512_ps(firstHigh)));
    __m512i const secondLow = _mm512_castps_si512(restOf(second, _mm512_castsi512_ps(secondHigh)));
    // The upper words of both: no part has bits below.
    __m512i const upper = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
        25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return {
        _mm512_permutex2var_epi16(firstHigh, upper, secondHigh), _mm512_permutex2var_epi16(firstLow, upper, secondLow)};
}

//! Where all are zero or normal by their bits, with half as many instructions: they decide how fast rows are packed.
TENON_INLINE HalfParts partsOf(__m512i halves)
{
    constexpr int16_t kSignBit{-0x8000};
    __m512i const sign = _mm512_set1_epi16(kSignBit);
    __m512i const size = _mm512_andnot_si512(sign, halves);
    __mmask32 const isThere = _mm512_test_epi16_mask(size, size);
    // Subnormal numbers wrap around, infinities and what is no number have the largest exponent.
    __m512i const aboveSubnormal = _mm512_sub_epi16(size, _mm512_set1_epi16(0x400));
    if (_mm512_mask_cmpge_epu16_mask(isThere, aboveSubnormal, _mm512_set1_epi16(0x7800)) != 0)
        return partsOfAny(halves);
    // Exponents are biased by 15 there and by 127 here: 112 more.
    __m512i const shortened = _mm512_srli_epi16(size, 3);
    __m512i const high = _mm512_add_epi16(shortened, _mm512_set1_epi16(112 << 7));
    // n · 2^-25 for the last three bits n; an index counts modulo 32.
    alignas(16) constexpr int16_t kUnits[8]{
        27 << 7, 102 << 7, 103 << 7, 103 << 7 | 0x40, 104 << 7, 104 << 7 | 0x20, 104 << 7 | 0x40, 104 << 7 | 0x60};
    __m512i const table =
        _mm512_broadcast_i32x4(_mm_load_si128(static_cast<__m128i const*>(static_cast<void const*>(kUnits))));
    __m512i const exponent = _mm512_and_si512(shortened, _mm512_set1_epi16(0x1F << 7));
    __m512i const low = _mm512_add_epi16(_mm512_permutexvar_epi16(halves, table), exponent);
    constexpr int kSignOrRest{0xEA}; // (a & b) | c
    return {_mm512_maskz_mov_epi16(isThere, _mm512_ternarylogic_epi32(halves, sign, high, kSignOrRest)),
        _mm512_maskz_mov_epi16(isThere, _mm512_ternarylogic_epi32(halves, sign, low, kSignOrRest))};
}
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
