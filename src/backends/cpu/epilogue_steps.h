// Epilogue steps on a few rows that were just written and are still in the nearest cache.
#pragma once

#include "backends/cpu/gemm.h"
#include "backends/cpu/simd_math.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

TENON_INLINE F16 applyActivation(GemmStep const& step, F16 x)
{
    F16 const alpha = splat(step.alpha);
    F16 const beta = splat(step.beta);
    switch (step.kind)
    {
    case EpilogueKind::kRelu: return max(zero(), x);
    case EpilogueKind::kClip: return min(beta, max(alpha, x));
    case EpilogueKind::kLeakyRelu: return selectLess(zero(), x, x, x * alpha);
    case EpilogueKind::kSigmoid: return sigmoid(x);
    case EpilogueKind::kTanh: return tanh(x);
    case EpilogueKind::kSilu: return x * sigmoid(x);
    case EpilogueKind::kHardSigmoid: return min(splat(1.0F), max(zero(), fma(alpha, x, beta)));
    case EpilogueKind::kHardSwish: return x * min(splat(1.0F), max(zero(), fma(alpha, x, beta)));
    case EpilogueKind::kGeluErf: return geluErf(x);
    case EpilogueKind::kGeluTanh: return geluTanh(x);
    case EpilogueKind::kElu: return selectLess(zero(), x, x, alpha * expMinusOne(max(splat(-80.0F), min(zero(), x))));
    default: return fma(alpha, x, beta);
    }
}

TENON_INLINE F16 loadStrided(float const* p, int64_t stride, int64_t count)
{
    alignas(64) float lanes[kLanes]{};
    for (int64_t i = 0; i < count; ++i)
        lanes[i] = p[i * stride];
    return load(lanes);
}

TENON_INLINE F16 loadExtra(GemmStep const& step, float const* row, int64_t column, int64_t count)
{
    if (step.columnStride == 0)
        return splat(*row);
    if (step.columnStride == 1)
        return count == kLanes ? load(row + column) : load(row + column, firstLanes(count));
    return loadStrided(row + column * step.columnStride, step.columnStride, count);
}

//! One step on rows [row, row + rows) and columns [column, column + columns) of c; `c` points at the first of them.
template <typename Apply>
TENON_INLINE void forEachVector(float* c, int64_t stride, int64_t rows, int64_t columns, Apply const& apply)
{
    for (int64_t r = 0; r < rows; ++r, c += stride)
    {
        int64_t n = 0;
        for (; n + kLanes <= columns; n += kLanes)
            store(c + n, apply(load(c + n), r, n, kLanes));
        if (n < columns)
        {
            Mask const mask = firstLanes(columns - n);
            store(c + n, apply(load(c + n, mask), r, n, columns - n), mask);
        }
    }
}

TENON_INLINE void applyExtra(
    GemmStep const& step, float* c, int64_t stride, int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    auto const rowOf = [&](int64_t r) {
        return step.extra + (step.rowOffsets != nullptr ? step.rowOffsets[row + r] : (row + r) * step.rowStride);
    };
    if (step.kind == EpilogueKind::kAdd)
        forEachVector(c, stride, rows, columns, [&](F16 x, int64_t r, int64_t n, int64_t count) {
            return x + loadExtra(step, rowOf(r), column + n, count);
        });
    else
        forEachVector(c, stride, rows, columns, [&](F16 x, int64_t r, int64_t n, int64_t count) {
            return x * loadExtra(step, rowOf(r), column + n, count);
        });
}

//! Each kind has a loop of its own, so that its constants stay in registers.
#define TENON_ACTIVATION_LOOP(Kind)                                                                                    \
    case EpilogueKind::Kind:                                                                                           \
    {                                                                                                                  \
        GemmStep fixed = step;                                                                                         \
        fixed.kind = EpilogueKind::Kind;                                                                               \
        forEachVector(                                                                                                 \
            c, stride, rows, columns, [&](F16 x, int64_t, int64_t, int64_t) { return applyActivation(fixed, x); });    \
        break;                                                                                                         \
    }

static __attribute__((noinline)) void applySteps(GemmStep const* steps, int64_t count, float* c, int64_t stride,
    int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    for (int64_t i = 0; i < count; ++i)
    {
        GemmStep const& step = steps[i];
        switch (step.kind)
        {
        case EpilogueKind::kAdd:
        case EpilogueKind::kMultiply:
            applyExtra(step, c, stride, row, rows, column, columns);
            break;
            TENON_ACTIVATION_LOOP(kRelu)
            TENON_ACTIVATION_LOOP(kClip)
            TENON_ACTIVATION_LOOP(kLeakyRelu)
            TENON_ACTIVATION_LOOP(kSigmoid)
            TENON_ACTIVATION_LOOP(kTanh)
            TENON_ACTIVATION_LOOP(kSilu)
            TENON_ACTIVATION_LOOP(kHardSigmoid)
            TENON_ACTIVATION_LOOP(kHardSwish)
            TENON_ACTIVATION_LOOP(kGeluErf)
            TENON_ACTIVATION_LOOP(kGeluTanh)
            TENON_ACTIVATION_LOOP(kElu)
            TENON_ACTIVATION_LOOP(kLinear)
        }
    }
}

#undef TENON_ACTIVATION_LOOP

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
