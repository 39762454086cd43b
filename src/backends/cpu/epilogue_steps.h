// Epilogue steps: short ones on sums that are still in registers, the others on a few rows that were just written and
// are still in the nearest cache, all steps while in registers.
#pragma once

#include "backends/cpu/gemm.h"
#include "backends/cpu/simd_math.h"
#include "backends/cpu/simd_register.h"

#include <type_traits>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

// A function per row of TENON_EPILOGUE_FUNCTIONS.
TENON_INLINE F16 relu(F16 x, F16, F16)
{
    return max(zero(), x);
}
TENON_INLINE F16 clip(F16 x, F16 alpha, F16 beta)
{
    return max(alpha, min(beta, x));
}
TENON_INLINE F16 leakyRelu(F16 x, F16 alpha, F16)
{
    return selectLess(zero(), x, x, x * alpha);
}
TENON_INLINE F16 sigmoid(F16 x, F16, F16)
{
    return sigmoid(x);
}
TENON_INLINE F16 tanh(F16 x, F16, F16)
{
    return tanh(x);
}
TENON_INLINE F16 silu(F16 x, F16, F16)
{
    return x * sigmoid(x);
}
TENON_INLINE F16 hardSigmoid(F16 x, F16 alpha, F16 beta)
{
    return min(splat(1.0F), max(zero(), fma(alpha, x, beta)));
}
TENON_INLINE F16 hardSwish(F16 x, F16 alpha, F16 beta)
{
    return x * hardSigmoid(x, alpha, beta);
}
TENON_INLINE F16 geluErf(F16 x, F16, F16)
{
    return geluErf(x);
}
TENON_INLINE F16 geluTanh(F16 x, F16, F16)
{
    return geluTanh(x);
}
TENON_INLINE F16 elu(F16 x, F16 alpha, F16)
{
    return selectLess(zero(), x, x, alpha * expMinusOne(max(splat(-80.0F), min(zero(), x))));
}

//! kRound; `inverse` is 1 / scale. What is no number becomes 0.
TENON_INLINE F16 rounded(F16 x, F16 scale, F16 inverse)
{
    F16 const inside = max(splat(-128.0F), min(splat(127.0F), x * inverse));
    return roundEven(numberOr(inside, zero())) * scale;
}

//! Whether sums are clamped at all. Work: Gemm or Depthwise.
template <typename Work>
TENON_INLINE bool isBounded(Work const& work)
{
    constexpr float kInfinity{__builtin_inff()};
    return work.low > -kInfinity || work.high < kInfinity;
}

//! Whether a step takes few instructions and no operand, so that sums go through it before they are stored.
TENON_INLINE bool isShort(StepForm const& step)
{
    return step.kind == EpilogueKind::kHardSwish || step.kind == EpilogueKind::kLinear;
}

//! Steps that are short, from the first on.
template <typename T>
TENON_INLINE int64_t shortSteps(GemmStep<T> const* steps, int64_t count)
{
    int64_t n = 0;
    while (n < count && isShort(steps[n]))
        ++n;
    return n;
}

template <typename V>
TENON_INLINE V splatAs(float x)
{
    if constexpr (std::is_same_v<V, F16>)
        return splat(x);
    else
        return splatRegister(x);
}

//! Sums in registers through so many short steps. V: F16, or a register of the instruction set.
template <int N, typename V, typename T>
TENON_INLINE void applyShort(GemmStep<T> const* steps, int64_t count, V (&x)[N])
{
    V const one = splatAs<V>(1.0F);
    V const none = splatAs<V>(0.0F);
    for (int64_t n = 0; n < count; ++n)
    {
        V const alpha = splatAs<V>(steps[n].alpha);
        V const beta = splatAs<V>(steps[n].beta);
        if (steps[n].kind == EpilogueKind::kLinear)
#pragma GCC unroll 32
            for (int i = 0; i < N; ++i)
                x[i] = fma(alpha, x[i], beta);
        else
#pragma GCC unroll 32
            for (int i = 0; i < N; ++i)
                x[i] = x[i] * min(one, max(none, fma(alpha, x[i], beta)));
    }
}

//! All steps on rows [row, row + rows) and columns [column, column + columns); `c` points at the first of them.
//! Compiled once for all kernels (epilogue_steps.isa.cpp): a loop per function, in vectors of several shapes, takes its
//! time.
template <typename T>
void applySteps(GemmStep<T> const* steps, int64_t count, float* c, int64_t stride, int64_t row, int64_t rows,
    int64_t column, int64_t columns);

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
