// Functions of sixteen floats, each within a few units in the last place of the exact value.
#pragma once

#include "backends/cpu/simd.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

//! exp(r) − 1 − r for |r| ≤ ln(2) / 2 by its Taylor series, whose next term is below 2^-26 there.
TENON_INLINE F16 expTail(F16 r)
{
    F16 p = fma(r, splat(1.0F / 5040.0F), splat(1.0F / 720.0F));
    p = fma(p, r, splat(1.0F / 120.0F));
    p = fma(p, r, splat(1.0F / 24.0F));
    p = fma(p, r, splat(1.0F / 6.0F));
    p = fma(p, r, splat(0.5F));
    return p * r * r;
}

//! n = round(x / ln 2) and r = x − n · ln 2, with ln 2 in two parts so that the difference is exact enough.
TENON_INLINE F16 reduceExp(F16 x, F16& n)
{
    n = roundEven(x * splat(1.44269504F));
    F16 const r = fma(n, splat(-0.693145752F), x);
    return fma(n, splat(-1.42860677e-6F), r);
}

TENON_INLINE F16 exp(F16 x)
{
    // Beyond these the result is infinite or zero; max and min keep a NaN that stands second.
    F16 const clamped = max(splat(-104.0F), min(splat(89.0F), x));
    F16 n;
    F16 const r = reduceExp(clamped, n);
    F16 const mantissa = splat(1.0F) + (r + expTail(r));
    // Two factors, since 2^n itself may overflow or be subnormal where the result is not.
    F16 const half = roundEven(n * splat(0.5F));
    return mantissa * powerOfTwo(half) * powerOfTwo(n - half);
}

//! exp(x) − 1 for |x| ≤ 80.
TENON_INLINE F16 expMinusOne(F16 x)
{
    F16 n;
    F16 const r = reduceExp(x, n);
    F16 const scale = powerOfTwo(n);
    return fma(scale, r + expTail(r), scale - splat(1.0F));
}

TENON_INLINE F16 sigmoid(F16 x)
{
    return splat(1.0F) / (splat(1.0F) + exp(zero() - x));
}

TENON_INLINE F16 tanh(F16 x)
{
    // From 10 on the result is 1 in float.
    F16 const e = expMinusOne(max(splat(-20.0F), min(splat(20.0F), x + x)));
    return copySign(e / (e + splat(2.0F)), x); // −0 stays −0.
}

//! A rational fit of erf(x) / x in x², relative error 2.5e-8 on |x| ≤ 4, where erf becomes 1 in float.
TENON_INLINE F16 erf(F16 x)
{
    F16 const c = max(splat(-4.0F), min(splat(4.0F), x));
    F16 const t = c * c;
    F16 p = fma(t, splat(1.98679589e-06F), splat(0.000284565797F));
    p = fma(p, t, splat(0.00388331232F));
    p = fma(p, t, splat(0.053101646F));
    p = fma(p, t, splat(0.193544241F));
    p = fma(p, t, splat(1.12837914F));
    F16 q = fma(t, splat(3.74203115e-05F), splat(0.00118556469F));
    q = fma(q, t, splat(0.0152071857F));
    q = fma(q, t, splat(0.115349669F));
    q = fma(q, t, splat(0.504856673F));
    q = fma(q, t, splat(1.0F));
    // The fit ends one unit in the last place short of 1. A NaN is no further than 4 and stays in c.
    return selectLess(splat(0x1.fffffep1F), abs(x), copySign(splat(1.0F), x), c * p / q);
}

TENON_INLINE F16 geluErf(F16 x)
{
    F16 const half = x * splat(0.5F);
    return fma(half, erf(x * splat(0.707106781F)), half);
}

TENON_INLINE F16 geluTanh(F16 x)
{
    F16 const cubic = fma(x * x, x * splat(0.044715F), x);
    F16 const half = x * splat(0.5F);
    return fma(half, tanh(cubic * splat(0.797884561F)), half);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
