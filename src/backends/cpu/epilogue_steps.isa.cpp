// All epilogue steps on rows that were just written: a loop per function, by vectors of several shapes.
#include "backends/cpu/epilogue_steps.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
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
} // namespace

//! The fewer columns there are, the more rows go together.
template <typename T>
void applySteps(GemmStep<T> const* steps, int64_t count, float* c, int64_t stride, int64_t row, int64_t rows,
    int64_t column, int64_t columns)
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

#define TENON_ROW(T)                                                                                                   \
    template void applySteps(GemmStep<T> const*, int64_t, float*, int64_t, int64_t, int64_t, int64_t, int64_t)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
