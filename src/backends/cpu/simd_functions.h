// The functions of ir/functions.h that tapes alone use, by sixteen floats: what simd_math.h has not, and those that go
// lane by lane through the C library.
#pragma once

#include "backends/cpu/simd_math.h"

extern "C"
{
    // Of the C library; its header's inline functions must not be compiled for an instruction set.
    float sinf(float);
    float cosf(float);
    float tanf(float);
    float sinhf(float);
    float coshf(float);
    float asinf(float);
    float acosf(float);
    float atanf(float);
    float asinhf(float);
    float acoshf(float);
    float atanhf(float);
    float powf(float, float);
}

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

TENON_INLINE F16 neg(F16 x)
{
    return splat(-0.0F) - x; // −(+0) is −0.
}
TENON_INLINE F16 reciprocal(F16 x)
{
    return splat(1.0F) / x;
}
TENON_INLINE F16 round(F16 x)
{
    return roundEven(x);
}
TENON_INLINE F16 floor(F16 x)
{
    F16 const near = roundEven(x);
    return selectLess(x, near, near - splat(1.0F), near);
}
TENON_INLINE F16 ceil(F16 x)
{
    F16 const near = roundEven(x);
    return selectLess(near, x, near + splat(1.0F), near);
}
//! Zero keeps its sign, NaN stays.
TENON_INLINE F16 sign(F16 x)
{
    return selectLess(zero(), x, splat(1.0F), selectLess(x, zero(), splat(-1.0F), x));
}

//! Of positive numbers that are not subnormal.
TENON_INLINE F16 logOf(F16 x)
{
    F16 exponent;
    F16 m;
    split(x, exponent, m);
    // log(m) = 2 atanh(s) with s = (m − 1) / (m + 1), |s| ≤ 0.2: its series in s².
    F16 const s = (m - splat(1.0F)) / (m + splat(1.0F));
    F16 const t = s * s;
    F16 p = fma(t, splat(2.0F / 11.0F), splat(2.0F / 9.0F));
    p = fma(p, t, splat(2.0F / 7.0F));
    p = fma(p, t, splat(2.0F / 5.0F));
    p = fma(p, t, splat(2.0F / 3.0F));
    F16 const tail = p * t * s;
    F16 const low = fma(exponent, splat(1.42860677e-6F), tail);
    return fma(exponent, splat(0.693145752F), s + s + low);
}

TENON_INLINE F16 log(F16 x)
{
    constexpr float kLeastNormal{0x1p-126F};
    F16 const y = logOf(selectLess(x, splat(kLeastNormal), x * splat(0x1p24F), x)); // Subnormals become normal.
    F16 const scaled = selectLess(x, splat(kLeastNormal), y - splat(16.6355324F), y);
    F16 const finite = scaled + (x - x); // NaN stays.
    F16 const bounded = selectLess(splat(0x1.fffffep127F), x, x, finite);
    F16 const below = selectLess(x, zero(), splat(__builtin_nanf("")), splat(-__builtin_inff()));
    return selectLess(x, splat(0x1p-149F), below, bounded);
}

//! Lane by lane.
template <float (*Function)(float)>
TENON_INLINE F16 byLane(F16 x)
{
    alignas(64) float lanes[kLanes];
    store(lanes, x);
    for (int64_t i = 0; i < kLanes; ++i)
        lanes[i] = Function(lanes[i]);
    return load(lanes);
}

#define TENON_BY_LANE(name)                                                                                            \
    TENON_INLINE F16 name(F16 x)                                                                                       \
    {                                                                                                                  \
        return byLane<name##f>(x);                                                                                     \
    }
TENON_BY_LANE(sin)
TENON_BY_LANE(cos)
TENON_BY_LANE(tan)
TENON_BY_LANE(sinh)
TENON_BY_LANE(cosh)
TENON_BY_LANE(asin)
TENON_BY_LANE(acos)
TENON_BY_LANE(atan)
TENON_BY_LANE(asinh)
TENON_BY_LANE(acosh)
TENON_BY_LANE(atanh)
#undef TENON_BY_LANE

TENON_INLINE F16 pow(F16 a, F16 b)
{
    alignas(64) float x[kLanes];
    alignas(64) float y[kLanes];
    store(x, a);
    store(y, b);
    for (int64_t i = 0; i < kLanes; ++i)
        x[i] = powf(x[i], y[i]);
    return load(x);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
