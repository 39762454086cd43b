// Simd: sixteen floats at a time on each instruction set. Included by the files that are compiled once per set; nothing
// of it may have external linkage, or one set's code would serve the other.
#pragma once

#include <cstdint>
#include <immintrin.h>

#ifndef TENON_ISA_NAMESPACE
#error "compiled once per instruction set; see tenon_isa_sources"
#endif

#define TENON_INLINE inline static __attribute__((always_inline))

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

inline constexpr int64_t kLanes{16};

//! Half as many floats: half the work of a whole vector on each of the sets.
struct F8
{
    __m256 v;
};
TENON_INLINE F8 load8(float const* p)
{
    return {_mm256_loadu_ps(p)};
}
TENON_INLINE F8 fma(F8 a, F8 b, F8 c)
{
    return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}

#ifdef __AVX512F__

struct F16
{
    __m512 v;
};
//! Lanes [0, n) are on.
struct Mask
{
    __mmask16 m;
};

TENON_INLINE Mask firstLanes(int64_t n)
{
    return {static_cast<__mmask16>((1U << n) - 1U)};
}
TENON_INLINE F16 load(float const* p)
{
    return {_mm512_loadu_ps(p)};
}
TENON_INLINE F16 load(float const* p, Mask m)
{
    return {_mm512_maskz_loadu_ps(m.m, p)};
}
//! from[places[i]] where wanted[i] is not 0, else 0, without a look at what is not wanted.
TENON_INLINE F16 gather(float const* from, int32_t const* places, float const* wanted)
{
    __mmask16 const m = _mm512_cmp_ps_mask(_mm512_loadu_ps(wanted), _mm512_setzero_ps(), _CMP_NEQ_UQ);
    return {_mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, _mm512_loadu_si512(places), from, sizeof(float))};
}
TENON_INLINE void store(float* p, F16 x)
{
    _mm512_storeu_ps(p, x.v);
}
TENON_INLINE void store(float* p, F16 x, Mask m)
{
    _mm512_mask_storeu_ps(p, m.m, x.v);
}
TENON_INLINE F16 splat(float x)
{
    return {_mm512_set1_ps(x)};
}
TENON_INLINE F16 zero()
{
    return {_mm512_setzero_ps()};
}
TENON_INLINE F8 lowHalf(F16 x)
{
    return {_mm512_castps512_ps256(x.v)};
}
TENON_INLINE F8 highHalf(F16 x)
{
    return {_mm512_extractf32x8_ps(x.v, 1)};
}
//! The upper half is zero.
TENON_INLINE F16 widen(F8 x)
{
    return {_mm512_insertf32x8(_mm512_setzero_ps(), x.v, 0)};
}
//! Both halves are x.
TENON_INLINE F16 twice(F8 x)
{
    return {_mm512_broadcast_f32x8(x.v)};
}
//! The lower half of one and the upper half of another.
TENON_INLINE F16 joinHalves(F16 low, F16 high)
{
    return {_mm512_mask_blend_ps(0xFF00, low.v, high.v)};
}
TENON_INLINE F16 operator+(F16 a, F16 b)
{
    return {_mm512_add_ps(a.v, b.v)};
}
TENON_INLINE F16 operator-(F16 a, F16 b)
{
    return {_mm512_sub_ps(a.v, b.v)};
}
TENON_INLINE F16 operator*(F16 a, F16 b)
{
    return {_mm512_mul_ps(a.v, b.v)};
}
TENON_INLINE F16 operator/(F16 a, F16 b)
{
    return {_mm512_div_ps(a.v, b.v)};
}
//! a · b + c
TENON_INLINE F16 fma(F16 a, F16 b, F16 c)
{
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
//! The second operand where one is NaN, so that min(max(lo, x), hi) keeps a NaN in x.
TENON_INLINE F16 min(F16 a, F16 b)
{
    return {_mm512_min_ps(a.v, b.v)};
}
TENON_INLINE F16 max(F16 a, F16 b)
{
    return {_mm512_max_ps(a.v, b.v)};
}
//! NaN where either is.
TENON_INLINE F16 minOrNan(F16 a, F16 b)
{
    return {_mm512_mask_mov_ps(_mm512_min_ps(a.v, b.v), _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q), a.v)};
}
TENON_INLINE F16 maxOrNan(F16 a, F16 b)
{
    return {_mm512_mask_mov_ps(_mm512_max_ps(a.v, b.v), _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q), a.v)};
}
//! The other in place of NaN.
TENON_INLINE F16 numberOr(F16 a, F16 other)
{
    return {_mm512_mask_mov_ps(a.v, _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q), other.v)};
}
TENON_INLINE F16 sqrt(F16 a)
{
    return {_mm512_sqrt_ps(a.v)};
}
TENON_INLINE F16 abs(F16 a)
{
    return {_mm512_abs_ps(a.v)};
}
TENON_INLINE F16 roundEven(F16 a)
{
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
//! 2^n for whole n in [-126, 127].
TENON_INLINE F16 powerOfTwo(F16 n)
{
    __m512i const i = _mm512_cvtps_epi32(n.v);
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(i, _mm512_set1_epi32(127)), 23))};
}
TENON_INLINE F16 selectLess(F16 a, F16 b, F16 yes, F16 no)
{
    return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), no.v, yes.v)};
}
TENON_INLINE F16 copySign(F16 magnitude, F16 sign)
{
    __m512i const bit = _mm512_set1_epi32(INT32_MIN);
    return {_mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(bit, _mm512_castps_si512(sign.v), _mm512_castps_si512(magnitude.v), 0xCA))};
}
TENON_INLINE float sum(F16 a)
{
    return _mm512_reduce_add_ps(a.v);
}
TENON_INLINE float largest(F16 a)
{
    return _mm512_reduce_max_ps(a.v);
}
//! Exponent and mantissa in [0.75, 1.5) of positive normal numbers: x = mantissa · 2^exponent.
TENON_INLINE void split(F16 x, F16& exponent, F16& mantissa)
{
    mantissa = {_mm512_getmant_ps(x.v, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero)};
    __m512i const bits = _mm512_sub_epi32(_mm512_castps_si512(x.v), _mm512_castps_si512(mantissa.v));
    exponent = {_mm512_cvtepi32_ps(_mm512_srai_epi32(bits, 23))};
}
//! Rows become columns.
TENON_INLINE void transpose16(F16 (&r)[16])
{
    __m512 t[16];
    for (int i = 0; i < 16; i += 2)
    {
        t[i] = _mm512_unpacklo_ps(r[i].v, r[i + 1].v);
        t[i + 1] = _mm512_unpackhi_ps(r[i].v, r[i + 1].v);
    }
    __m512 u[16];
    for (int i = 0; i < 16; i += 4)
    {
        u[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xEE);
        u[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i)
    {
        __m512 const a = _mm512_shuffle_f32x4(u[i], u[i + 4], 0x88);
        __m512 const b = _mm512_shuffle_f32x4(u[i + 8], u[i + 12], 0x88);
        __m512 const c = _mm512_shuffle_f32x4(u[i], u[i + 4], 0xDD);
        __m512 const d = _mm512_shuffle_f32x4(u[i + 8], u[i + 12], 0xDD);
        r[i] = {_mm512_shuffle_f32x4(a, b, 0x88)};
        r[i + 8] = {_mm512_shuffle_f32x4(a, b, 0xDD)};
        r[i + 4] = {_mm512_shuffle_f32x4(c, d, 0x88)};
        r[i + 12] = {_mm512_shuffle_f32x4(c, d, 0xDD)};
    }
}

#else

struct F16
{
    __m256 lo;
    __m256 hi;
};
struct Mask
{
    __m256i lo;
    __m256i hi;
    int64_t count;
};

TENON_INLINE Mask firstLanes(int64_t n)
{
    alignas(32) static constexpr int32_t kOn[32]{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    return {_mm256_loadu_si256(reinterpret_cast<__m256i const*>(kOn + 16 - n)),
        _mm256_loadu_si256(reinterpret_cast<__m256i const*>(kOn + 24 - n)), n};
}
TENON_INLINE F16 load(float const* p)
{
    return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
TENON_INLINE F16 load(float const* p, Mask m)
{
    return {_mm256_maskload_ps(p, m.lo), _mm256_maskload_ps(p + 8, m.hi)};
}
//! from[places[i]] where wanted[i] is not 0, else 0, without a look at what is not wanted.
TENON_INLINE F16 gather(float const* from, int32_t const* places, float const* wanted)
{
    auto const half = [from](int32_t const* at, float const* mask) {
        __m256 const m = _mm256_cmp_ps(_mm256_loadu_ps(mask), _mm256_setzero_ps(), _CMP_NEQ_UQ);
        __m256i const index = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(at));
        return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), from, index, m, sizeof(float));
    };
    return {half(places, wanted), half(places + 8, wanted + 8)};
}
TENON_INLINE void store(float* p, F16 x)
{
    _mm256_storeu_ps(p, x.lo);
    _mm256_storeu_ps(p + 8, x.hi);
}
//! The first n of at most eight: the masked store of this instruction set takes eight times as long on some machines.
TENON_INLINE void storeFirst(float* p, __m256 x, int64_t n)
{
    if (n >= 8)
        return _mm256_storeu_ps(p, x);
    __m128 rest = _mm256_castps256_ps128(x);
    if (n & 4)
    {
        _mm_storeu_ps(p, rest);
        rest = _mm256_extractf128_ps(x, 1);
        p += 4;
    }
    if (n & 2)
    {
        _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
        rest = _mm_movehl_ps(rest, rest);
        p += 2;
    }
    if (n & 1)
        _mm_store_ss(p, rest);
}
TENON_INLINE void store(float* p, F16 x, Mask m)
{
    storeFirst(p, x.lo, m.count);
    if (m.count > 8)
        storeFirst(p + 8, x.hi, m.count - 8);
}
TENON_INLINE F16 splat(float x)
{
    __m256 const v = _mm256_set1_ps(x);
    return {v, v};
}
TENON_INLINE F16 zero()
{
    return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
TENON_INLINE F8 lowHalf(F16 x)
{
    return {x.lo};
}
TENON_INLINE F8 highHalf(F16 x)
{
    return {x.hi};
}
TENON_INLINE F16 widen(F8 x)
{
    return {x.v, _mm256_setzero_ps()};
}
TENON_INLINE F16 twice(F8 x)
{
    return {x.v, x.v};
}
TENON_INLINE F16 joinHalves(F16 low, F16 high)
{
    return {low.lo, high.hi};
}
TENON_INLINE F16 operator+(F16 a, F16 b)
{
    return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
TENON_INLINE F16 operator-(F16 a, F16 b)
{
    return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
TENON_INLINE F16 operator*(F16 a, F16 b)
{
    return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
TENON_INLINE F16 operator/(F16 a, F16 b)
{
    return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
TENON_INLINE F16 fma(F16 a, F16 b, F16 c)
{
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
TENON_INLINE F16 min(F16 a, F16 b)
{
    return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
TENON_INLINE F16 max(F16 a, F16 b)
{
    return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
TENON_INLINE F16 minOrNan(F16 a, F16 b)
{
    return {_mm256_blendv_ps(_mm256_min_ps(a.lo, b.lo), a.lo, _mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q)),
        _mm256_blendv_ps(_mm256_min_ps(a.hi, b.hi), a.hi, _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q))};
}
TENON_INLINE F16 maxOrNan(F16 a, F16 b)
{
    return {_mm256_blendv_ps(_mm256_max_ps(a.lo, b.lo), a.lo, _mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q)),
        _mm256_blendv_ps(_mm256_max_ps(a.hi, b.hi), a.hi, _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q))};
}
TENON_INLINE F16 numberOr(F16 a, F16 other)
{
    return {_mm256_blendv_ps(a.lo, other.lo, _mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q)),
        _mm256_blendv_ps(a.hi, other.hi, _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q))};
}
TENON_INLINE F16 sqrt(F16 a)
{
    return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)};
}
TENON_INLINE F16 abs(F16 a)
{
    __m256 const bit = _mm256_set1_ps(-0.0F);
    return {_mm256_andnot_ps(bit, a.lo), _mm256_andnot_ps(bit, a.hi)};
}
TENON_INLINE F16 roundEven(F16 a)
{
    constexpr int kMode{_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC};
    return {_mm256_round_ps(a.lo, kMode), _mm256_round_ps(a.hi, kMode)};
}
TENON_INLINE __m256 powerOfTwo8(__m256 n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
}
TENON_INLINE F16 powerOfTwo(F16 n)
{
    return {powerOfTwo8(n.lo), powerOfTwo8(n.hi)};
}
TENON_INLINE F16 selectLess(F16 a, F16 b, F16 yes, F16 no)
{
    return {_mm256_blendv_ps(no.lo, yes.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
        _mm256_blendv_ps(no.hi, yes.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
}
TENON_INLINE F16 copySign(F16 magnitude, F16 sign)
{
    __m256 const bit = _mm256_set1_ps(-0.0F);
    return {_mm256_or_ps(_mm256_andnot_ps(bit, magnitude.lo), _mm256_and_ps(bit, sign.lo)),
        _mm256_or_ps(_mm256_andnot_ps(bit, magnitude.hi), _mm256_and_ps(bit, sign.hi))};
}
TENON_INLINE float sum(F16 a)
{
    __m256 const s = _mm256_add_ps(a.lo, a.hi);
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
TENON_INLINE float largest(F16 a)
{
    __m256 const s = _mm256_max_ps(a.lo, a.hi);
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}
TENON_INLINE void split8(__m256 x, __m256& exponent, __m256& mantissa)
{
    // Subtracting the bits of 0.75 first makes the exponent step at 1.5 instead of 2.
    __m256i const bits = _mm256_castps_si256(x);
    __m256i const whole = _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x3F400000)), 23);
    exponent = _mm256_cvtepi32_ps(whole);
    mantissa = _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(whole, 23)));
}
TENON_INLINE void split(F16 x, F16& exponent, F16& mantissa)
{
    split8(x.lo, exponent.lo, mantissa.lo);
    split8(x.hi, exponent.hi, mantissa.hi);
}
TENON_INLINE void transpose8(__m256 (&r)[8])
{
    __m256 t[8];
    for (int i = 0; i < 8; i += 2)
    {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    __m256 u[8];
    for (int i = 0; i < 8; i += 4)
    {
        u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
        u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i)
    {
        r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
}
TENON_INLINE void transpose16(F16 (&r)[16])
{
    __m256 q[4][8];
    for (int i = 0; i < 8; ++i)
    {
        q[0][i] = r[i].lo;
        q[1][i] = r[i].hi;
        q[2][i] = r[i + 8].lo;
        q[3][i] = r[i + 8].hi;
    }
    for (auto& quarter : q)
        transpose8(quarter);
    for (int i = 0; i < 8; ++i)
    {
        r[i] = {q[0][i], q[2][i]};
        r[i + 8] = {q[1][i], q[3][i]};
    }
}

#endif

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
