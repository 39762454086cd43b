// Sums of a tile of a product: how they begin, and what becomes of them when the products are added. Included by files
// that are compiled once per instruction set.
#pragma once

#include "backends/cpu/epilogue_steps.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! What is brought into the second cache meanwhile: `step` bytes per element of depth, nothing with a step of 0.
struct Fetch
{
    char const* from{nullptr};
    int64_t step{0};
};

struct Tile
{
    Gemm<float> const& gemm;
    void const* panels;       //!< gemm.b, or panels that are stored as the tile's function expects them.
    float const* const* rows; //!< [active segments][rows of the tile], or, of even tiles, [active segments].
    uint8_t const* active;    //!< Segments that are not all zeros, ascending.
    int64_t activeCount;
    int64_t row;
    int64_t panel;
    Fetch fetch;
    int64_t rowStride{0}; //!< Of even tiles, whose rows are equally far apart: elements from one to the next.
};

//! Sums of R rows and V vectors of columns; with `Half` the last vector has eight columns at most, and two rows share
//! one vector for theirs: the even row has its lower half.
template <int R, int V, bool Half>
struct Sums
{
    static constexpr int kWhole{V - (Half ? 1 : 0)};
    static constexpr int kPairs{Half ? (R + 1) / 2 : 0};
    F16 whole[R][kWhole == 0 ? 1 : kWhole];
    F16 pairs[kPairs == 0 ? 1 : kPairs];

    __attribute__((always_inline)) F16 at(int r, int v) const
    {
        if constexpr (kWhole > 0)
            if (v < kWhole)
                return whole[r][v];
        return widen(r % 2 == 0 ? lowHalf(pairs[r / 2]) : highHalf(pairs[r / 2]));
    }
};

//! Whether sums begin with the bias, which then costs nothing.
TENON_INLINE bool beginsWithBias(Gemm<float> const& g)
{
    return g.alpha == 1.0F;
}

TENON_INLINE F16 biasOf(Gemm<float> const& g, int64_t column)
{
    if (g.bias == nullptr)
        return zero();
    int64_t const left = g.columns - column;
    return left < kLanes ? load(g.bias + column, firstLanes(left)) : load(g.bias + column);
}

template <int R, int V, bool Half>
TENON_INLINE void beginSums(Tile const& tile, Sums<R, V, Half>& sums)
{
    Gemm<float> const& g = tile.gemm;
    bool const isBiased = g.bias != nullptr && beginsWithBias(g);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
    {
        F16 const first = isBiased ? biasOf(g, (tile.panel + v) * kPanel) : zero();
        if (Half && v == V - 1)
        {
            F16 const both = twice(lowHalf(first));
#pragma GCC unroll 32
            for (F16& pair : sums.pairs)
                pair = both;
            continue;
        }
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
            sums.whole[r][v] = first;
    }
}

//! Factor and bias, residual, bounds and so many short steps, and the result to memory. `IsShort`: there are such
//! steps, so that all rows of a vector of columns go through one after the other before any is stored.
template <bool IsShort, int R, int V, bool Half>
TENON_INLINE void storeSums(Tile const& tile, Sums<R, V, Half>& sums, int64_t last, int64_t shortCount)
{
    Gemm<float> const& g = tile.gemm;
    int64_t const column = tile.panel * kPanel;
    float* const c = g.c + tile.row * g.cStride + column;
    float const* const residual = g.residual == nullptr ? nullptr : g.residual + tile.row * g.residualStride + column;
    F16 const low = splat(g.low);
    F16 const high = splat(g.high);
    Mask const mask = firstLanes(last);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
    {
        bool const isCut = v == V - 1 && (Half || last != kLanes);
        auto const put = [&](int r, F16 y) {
            float* const p = c + r * g.cStride + v * kLanes;
            if (isCut)
                store(p, y, mask);
            else
                store(p, y);
        };
        F16 x[R];
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
            x[r] = sums.at(r, v);
        if (!beginsWithBias(g))
        {
            F16 const alpha = splat(g.alpha);
            F16 const bias = biasOf(g, column + v * kLanes);
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                x[r] = fma(x[r], alpha, bias);
        }
        if (residual != nullptr)
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
            {
                float const* const p = residual + r * g.residualStride + v * kLanes;
                x[r] = x[r] + (isCut ? load(p, mask) : load(p));
            }
        if constexpr (!IsShort)
        {
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                put(r, min(high, max(low, x[r])));
            continue;
        }
        if (isBounded(g))
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                x[r] = min(high, max(low, x[r]));
        applyShort(g.steps, shortCount, x);
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
            put(r, x[r]);
    }
}

template <int R, int V, bool Half>
TENON_INLINE void finish(Tile const& tile, Sums<R, V, Half>& sums, int64_t last)
{
    Gemm<float> const& g = tile.gemm;
    if (g.stepCount == 0)
        return storeSums<false>(tile, sums, last, 0);
    int64_t const done = shortSteps(g.steps, g.stepCount);
    storeSums<true>(tile, sums, last, done);
    int64_t const column = tile.panel * kPanel;
    float* const c = g.c + tile.row * g.cStride + column;
    if (g.stepCount > done)
        applySteps(g.steps + done, g.stepCount - done, c, g.cStride, tile.row, R, column, (V - 1) * kLanes + last);
}
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
