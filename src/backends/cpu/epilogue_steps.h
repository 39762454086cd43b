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

template <typename T>
TENON_INLINE F16 loadStrided(T const* p, int64_t stride, int64_t count)
{
    alignas(64) float lanes[kLanes]{};
    for (int64_t i = 0; i < count; ++i)
        lanes[i] = toFloat(p[i * stride]);
    return load(lanes);
}

template <typename T>
TENON_INLINE F16 loadExtra(GemmStep<T> const& step, int64_t row, int64_t column, int64_t count)
{
    T const* const from = step.extra + (step.rowOffsets != nullptr ? step.rowOffsets[row] : row * step.rowStride);
    if (step.columnStride == 0)
        return splat(toFloat(*from));
    if (step.columnStride == 1)
        return count == kLanes ? load(from + column) : load(from + column, firstLanes(count));
    return loadStrided(from + column * step.columnStride, step.columnStride, count);
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

//! R rows of V vectors through all steps; the last vector has `last` lanes.
template <int R, int V, typename T>
TENON_INLINE void applyToVectors(
    GemmStep<T> const* steps, int64_t count, float* c, int64_t stride, int64_t row, int64_t column, int64_t last)
{
    constexpr int kVectors{R * V};
    F16 x[kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i)
    {
        float const* const p = c + i / V * stride + i % V * kLanes;
        x[i] = last == kLanes ? load(p) : load(p, firstLanes(last));
    }
    for (int64_t n = 0; n < count; ++n)
    {
        GemmStep<T> const& step = steps[n];
        F16 const alpha = splat(step.alpha);
        F16 const beta = splat(step.beta);
        // Each kind has a loop of its own, so that constants stay in registers and vectors overlap.
        switch (step.kind)
        {
        case EpilogueKind::kAdd:
#pragma GCC unroll 8
            for (int i = 0; i < kVectors; ++i)
                x[i] = x[i] + loadExtra(step, row + i / V, column + i % V * kLanes, last);
            break;
        case EpilogueKind::kMultiply:
#pragma GCC unroll 8
            for (int i = 0; i < kVectors; ++i)
                x[i] = x[i] * loadExtra(step, row + i / V, column + i % V * kLanes, last);
            break;
#define TENON_EPILOGUE_FUNCTION(number, Name, name, ...)                                                               \
    case EpilogueKind::k##Name:                                                                                        \
        _Pragma("GCC unroll 8") for (int i = 0; i < kVectors; ++i) x[i] = name(x[i], alpha, beta);                     \
        break;
            TENON_EPILOGUE_FUNCTIONS(TENON_EPILOGUE_FUNCTION)
#undef TENON_EPILOGUE_FUNCTION
        case EpilogueKind::kLinear:
#pragma GCC unroll 8
            for (int i = 0; i < kVectors; ++i)
                x[i] = fma(alpha, x[i], beta);
            break;
        case EpilogueKind::kRound:
#pragma GCC unroll 8
            for (int i = 0; i < kVectors; ++i)
                x[i] = rounded(x[i], alpha, splat(1.0F) / alpha);
            break;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i)
    {
        float* const p = c + i / V * stride + i % V * kLanes;
        if (last == kLanes)
            store(p, x[i]);
        else
            store(p, x[i], firstLanes(last));
    }
}

//! Vectors that go through all steps at once: as many as leave registers for constants, or each would wait for its own
//! results.
#ifdef __AVX512F__
constexpr int kAtOnce{8};
#else
constexpr int kAtOnce{4};
#endif

//! R rows.
template <int R, typename T>
TENON_INLINE void applyToRows(
    GemmStep<T> const* steps, int64_t count, float* c, int64_t stride, int64_t row, int64_t column, int64_t columns)
{
    constexpr int kWide{kAtOnce / R};
    int64_t n = 0;
    if constexpr (kWide > 1)
        for (; n + kWide * kLanes <= columns; n += kWide * kLanes)
            applyToVectors<R, kWide>(steps, count, c + n, stride, row, column + n, kLanes);
    for (; n + kLanes <= columns; n += kLanes)
        applyToVectors<R, 1>(steps, count, c + n, stride, row, column + n, kLanes);
    if (n < columns)
        applyToVectors<R, 1>(steps, count, c + n, stride, row, column + n, columns - n);
}

//! All steps on rows [row, row + rows) and columns [column, column + columns); `c` points at the first of them. The
//! fewer columns there are, the more rows go together.
template <typename T>
static __attribute__((noinline)) void applySteps(GemmStep<T> const* steps, int64_t count, float* c, int64_t stride,
    int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    constexpr int kFew{2};
    int64_t r = 0;
    if (columns < kAtOnce / kFew * kLanes)
        for (; r + kAtOnce <= rows; r += kAtOnce)
            applyToRows<kAtOnce>(steps, count, c + r * stride, stride, row + r, column, columns);
    else if (columns < kAtOnce * kLanes)
        for (; r + kFew <= rows; r += kFew)
            applyToRows<kFew>(steps, count, c + r * stride, stride, row + r, column, columns);
    for (; r < rows; ++r)
        applyToRows<1>(steps, count, c + r * stride, stride, row + r, column, columns);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
