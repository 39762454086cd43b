// Register: as many floats as one register of the instruction set holds, for kernels whose number of sums is what the
// registers can hold: sixteen floats are two registers with AVX2, and twelve sums of them would be spilled.
#pragma once

#include "backends/cpu/simd_storage.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

#ifdef __AVX512F__

using Register = F16;
inline constexpr int64_t kRegister{16};

template <typename T>
TENON_INLINE Register loadRegister(T const* p)
{
    return load(p);
}
template <typename T>
TENON_INLINE Register loadRegister(T const* p, Mask m)
{
    return load(p, m);
}
TENON_INLINE Register splatRegister(float x)
{
    return splat(x);
}

#else

using Register = F8;
inline constexpr int64_t kRegister{8};

//! Masks of at most eight lanes.
TENON_INLINE Register loadRegister(float const* p)
{
    return load8(p);
}
TENON_INLINE Register loadRegister(float const* p, Mask m)
{
    return {_mm256_maskload_ps(p, m.lo)};
}
TENON_INLINE Register loadRegister(Half const* p)
{
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p)))};
}
TENON_INLINE Register loadRegister(Bfloat const* p)
{
    __m256i const wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p)));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16))};
}
template <typename T>
TENON_INLINE Register loadRegister(T const* p, Mask m)
{
    return lowHalf(load(p, m));
}
TENON_INLINE void store(float* p, Register x)
{
    _mm256_storeu_ps(p, x.v);
}
TENON_INLINE void store(Half* p, Register x)
{
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.v, kToNearest));
}
TENON_INLINE void store(Bfloat* p, Register x)
{
    __m256i const rounded = roundBfloats(x.v);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(joinWords(rounded, rounded)));
}
TENON_INLINE void store(float* p, Register x, Mask m)
{
    storeFirst(p, x.v, m.count);
}
TENON_INLINE Register splatRegister(float x)
{
    return {_mm256_set1_ps(x)};
}
TENON_INLINE Register operator+(Register a, Register b)
{
    return {_mm256_add_ps(a.v, b.v)};
}
TENON_INLINE Register operator-(Register a, Register b)
{
    return {_mm256_sub_ps(a.v, b.v)};
}
TENON_INLINE Register operator*(Register a, Register b)
{
    return {_mm256_mul_ps(a.v, b.v)};
}
TENON_INLINE Register min(Register a, Register b)
{
    return {_mm256_min_ps(a.v, b.v)};
}
TENON_INLINE Register max(Register a, Register b)
{
    return {_mm256_max_ps(a.v, b.v)};
}

#endif

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
