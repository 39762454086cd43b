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
    int64_t perTile{0}; //!< Bytes from where one tile begins to where the next one does.
};

//! A tile, or several even ones below each other, one after the other.
struct Tile
{
    Gemm<float> const& gemm;
    void const* panels;    //!< gemm.b, or panels that are stored as the tile's function expects them.
    float const** rows;    //!< [active segments][rows of the tile], or, of even tiles, [active segments].
    uint8_t const* active; //!< Segments that are not all zeros, ascending.
    int64_t activeCount;
    int64_t row;
    int64_t panel;
    Fetch fetch;
    int64_t rowStride{0};       //!< Of even tiles, whose rows are equally far apart: elements from one to the next.
    int64_t count{1};           //!< Of even tiles.
    int64_t panelStride{0};     //!< Elements from panel to panel.
    void const* first{nullptr}; //!< Its first panel.

    //! Goes on `height` rows below.
    void goDown(int64_t height)
    {
        row += height;
        fetch.from += fetch.perTile;
        for (int64_t s = 0; s < activeCount; ++s)
            rows[s] += height * rowStride;
    }
};

//! The sums of the last vector of columns. Where it has eight columns at most, there is half a vector per row, or two
//! rows share one, of which the even row has the lower half.
enum class End : uint8_t
{
    kWhole,
    kPairs,
    kHalves
};

//! Sums of R rows and V vectors of columns.
template <int R, int V, End E>
struct Sums
{
    static constexpr int kWhole{V - (E == End::kWhole ? 0 : 1)};
    static constexpr int kPairs{E == End::kPairs ? (R + 1) / 2 : 0};
    F16 whole[R][kWhole == 0 ? 1 : kWhole];
    F16 pairs[kPairs == 0 ? 1 : kPairs];
    F8 halves[E == End::kHalves ? R : 1];

    __attribute__((always_inline)) F16 at(int r, int v) const
    {
        if constexpr (kWhole > 0)
            if (v < kWhole)
                return whole[r][v];
        if constexpr (E == End::kHalves)
            return widen(halves[r]);
        else
            return widen(r % 2 == 0 ? lowHalf(pairs[r / 2]) : highHalf(pairs[r / 2]));
    }
};

#ifdef __AVX512F__
constexpr bool kLeavesOutBounds{true};
#else
constexpr bool kLeavesOutBounds{false}; // To ask for them takes longer: with few registers it moves others to memory.
#endif

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

//! What the sums of V vectors of columns begin with, to memory.
template <int V>
TENON_INLINE void findFirst(Tile const& tile, float* first)
{
    Gemm<float> const& g = tile.gemm;
    bool const isBiased = g.bias != nullptr && beginsWithBias(g);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
        store(first + v * kLanes, isBiased ? biasOf(g, (tile.panel + v) * kPanel) : zero());
}

template <int R, int V, End E>
TENON_INLINE void beginSums(float const* from, Sums<R, V, E>& sums)
{
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
    {
        if constexpr (E == End::kPairs)
            if (v == V - 1)
            {
                F16 const both = twice(load8(from + v * kLanes));
#pragma GCC unroll 32
                for (F16& pair : sums.pairs)
                    pair = both;
                continue;
            }
        if constexpr (E == End::kHalves)
            if (v == V - 1)
            {
                F8 const first = load8(from + v * kLanes);
#pragma GCC unroll 32
                for (F8& half : sums.halves)
                    half = first;
                continue;
            }
        F16 const first = load(from + v * kLanes);
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
            sums.whole[r][v] = first;
    }
}

//! R vectors below each other, of which so many columns are stored.
template <int R>
TENON_INLINE void storeHalves(F16 const (&x)[R], Half* to, int64_t stride, int64_t columns)
{
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
        if (columns == kLanes)
            store(to + r * stride, x[r]);
        else
            store(to + r * stride, x[r], firstLanes(columns));
}

//! Factor and bias, residual, bounds and so many short steps, and the result to memory. `IsShort`: there are such
//! steps, so that all rows of a vector of columns go through one after the other before any is stored.
template <bool IsShort, int R, int V, End E>
TENON_INLINE void storeSums(Tile const& tile, Sums<R, V, E>& sums, int64_t last, int64_t shortCount)
{
    // What is in memory may be what a store has changed, for all that the compiler knows.
    Gemm<float> const& g = tile.gemm;
    int64_t const column = tile.panel * kPanel;
    int64_t const cStride = g.cStride;
    int64_t const residualStride = g.residualStride;
    float* const c = g.c + tile.row * cStride + column;
    float const* const residual = g.residual == nullptr ? nullptr : g.residual + tile.row * residualStride + column;
    Half* const halves = g.halves == nullptr ? nullptr : g.halves + tile.row * g.halvesStride + column;
    bool const isDone = beginsWithBias(g);
    bool const isClamped = (!IsShort && !kLeavesOutBounds) || isBounded(g);
    F16 const low = splat(g.low);
    F16 const high = splat(g.high);
    Mask const mask = firstLanes(last);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
    {
        bool const isCut = v == V - 1 && (E != End::kWhole || last != kLanes);
        F16 x[R];
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
            x[r] = sums.at(r, v);
        if (!isDone)
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
                float const* const p = residual + r * residualStride + v * kLanes;
                x[r] = x[r] + (isCut ? load(p, mask) : load(p));
            }
        if (isClamped)
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                x[r] = min(high, max(low, x[r]));
        if constexpr (IsShort)
            applyShort(g.steps, shortCount, x);
        if (!IsShort && halves != nullptr)
        {
            storeHalves(x, halves + v * kLanes, g.halvesStride, isCut ? last : kLanes);
            continue;
        }
        float* const to = c + v * kLanes;
        if (E == End::kHalves && v == V - 1 && last == kLanes / 2)
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                _mm256_storeu_ps(to + r * cStride, lowHalf(x[r]).v);
        else if (isCut)
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                store(to + r * cStride, x[r], mask);
        else
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                store(to + r * cStride, x[r]);
    }
}

template <int R, int V, End E>
TENON_INLINE void finish(Tile const& tile, Sums<R, V, E>& sums, int64_t last)
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
