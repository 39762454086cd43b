// Epilogue steps on a few rows that were just written and are still in the nearest cache: all steps while in registers.
#pragma once

#include "backends/cpu/gemm.h"
#include "backends/cpu/simd_math.h"
#include "backends/cpu/simd_storage.h"

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

//! kRound; `inverse` is 1 / scale.
TENON_INLINE F16 rounded(F16 x, F16 scale, F16 inverse)
{
    return roundEven(max(splat(-128.0F), min(splat(127.0F), x * inverse))) * scale;
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

//! V vectors of one row through all steps; the last vector has `last` lanes.
template <int V, typename T>
TENON_INLINE void applyToVectors(
    GemmStep<T> const* steps, int64_t count, float* c, int64_t row, int64_t column, int64_t last)
{
    F16 x[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
        x[v] = last == kLanes ? load(c + v * kLanes) : load(c + v * kLanes, firstLanes(last));
    for (int64_t i = 0; i < count; ++i)
    {
        GemmStep<T> const& step = steps[i];
        F16 const alpha = splat(step.alpha);
        F16 const beta = splat(step.beta);
        // Each kind has a loop of its own, so that constants stay in registers and vectors overlap.
        switch (step.kind)
        {
        case EpilogueKind::kAdd:
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                x[v] = x[v] + loadExtra(step, row, column + v * kLanes, last);
            break;
        case EpilogueKind::kMultiply:
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                x[v] = x[v] * loadExtra(step, row, column + v * kLanes, last);
            break;
#define TENON_EPILOGUE_FUNCTION(number, Name, name, ...)                                                               \
    case EpilogueKind::k##Name:                                                                                        \
        _Pragma("GCC unroll 4") for (int v = 0; v < V; ++v) x[v] = name(x[v], alpha, beta);                            \
        break;
            TENON_EPILOGUE_FUNCTIONS(TENON_EPILOGUE_FUNCTION)
#undef TENON_EPILOGUE_FUNCTION
        case EpilogueKind::kLinear:
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                x[v] = fma(alpha, x[v], beta);
            break;
        case EpilogueKind::kRound:
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                x[v] = rounded(x[v], alpha, splat(1.0F) / alpha);
            break;
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
        if (last == kLanes)
            store(c + v * kLanes, x[v]);
        else
            store(c + v * kLanes, x[v], firstLanes(last));
}

//! All steps on rows [row, row + rows) and columns [column, column + columns); `c` points at the first of them.
template <typename T>
static __attribute__((noinline)) void applySteps(GemmStep<T> const* steps, int64_t count, float* c, int64_t stride,
    int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    for (int64_t r = 0; r < rows; ++r, c += stride)
    {
        int64_t n = 0;
        for (; n + 4 * kLanes <= columns; n += 4 * kLanes)
            applyToVectors<4>(steps, count, c + n, row + r, column + n, kLanes);
        for (; n + kLanes <= columns; n += kLanes)
            applyToVectors<1>(steps, count, c + n, row + r, column + n, kLanes);
        if (n < columns)
            applyToVectors<1>(steps, count, c + n, row + r, column + n, columns - n);
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
