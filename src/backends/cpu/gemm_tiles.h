// Tiles of products: a tile keeps its sums in registers over the whole depth; columns come packed, rows from where they
// lie. Included by one file that is compiled once per instruction set.
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
    float const* const* rows; //!< [active segments][rows of the tile]
    uint8_t const* active;    //!< Segments that are not all zeros, ascending.
    int64_t activeCount;
    int64_t row;
    int64_t panel;
    Fetch fetch;
};

//! Sums of R rows and V vectors of columns; with `Half` the last vector has eight columns at most.
template <int R, int V, bool Half>
struct Sums
{
    static constexpr int kWhole{V - (Half ? 1 : 0)};
    F16 whole[R][kWhole == 0 ? 1 : kWhole];
    F8 half[Half ? R : 1];

    __attribute__((always_inline)) F16 at(int r, int v) const
    {
        if constexpr (kWhole == 0)
            return widen(half[r]);
        else if constexpr (Half)
            return v < kWhole ? whole[r][v] : widen(half[r]);
        else
            return whole[r][v];
    }
};

//! Bias, residual, bounds and so many short steps, and the result to memory. `IsShort`: there are such steps, so that
//! all rows of a vector of columns go through one after the other before any is stored.
template <bool IsShort, int R, int V, bool Half>
TENON_INLINE void storeSums(Tile const& tile, Sums<R, V, Half>& sums, int64_t last, int64_t shortCount)
{
    Gemm<float> const& g = tile.gemm;
    int64_t const column = tile.panel * kPanel;
    float* const c = g.c + tile.row * g.cStride + column;
    float const* const residual = g.residual == nullptr ? nullptr : g.residual + tile.row * g.residualStride + column;
    F16 const low = splat(g.low);
    F16 const high = splat(g.high);
    F16 const alpha = splat(g.alpha);
    Mask const mask = firstLanes(last);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
    {
        bool const isCut = v == V - 1 && (Half || last != kLanes);
        F16 bias = zero();
        if (g.bias != nullptr)
            bias = isCut ? load(g.bias + column + v * kLanes, mask) : load(g.bias + column + v * kLanes);
        auto const put = [&](int r, F16 x) {
            float* const p = c + r * g.cStride + v * kLanes;
            if (isCut)
                store(p, x, mask);
            else
                store(p, x);
        };
        F16 x[R];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
        {
            x[r] = fma(sums.at(r, v), alpha, bias);
            if (residual != nullptr)
            {
                float const* const p = residual + r * g.residualStride + v * kLanes;
                x[r] = x[r] + (isCut ? load(p, mask) : load(p));
            }
            x[r] = min(high, max(low, x[r]));
            if constexpr (!IsShort)
                put(r, x[r]);
        }
        if constexpr (!IsShort)
            continue;
        applyShort(g.steps, shortCount, x);
#pragma GCC unroll 16
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

//! Adds the products of one segment to the sums: rows a[0 ... R) times panels `panelStride` apart. B: what the panels
//! are stored as; with `Half` floats. With `Fetches` the prefetches go along, which take a slot of every step.
template <bool Fetches, typename B, int R, int V, bool Half>
TENON_INLINE void addSegment(
    Sums<R, V, Half>& sums, float const* const* rows, B const* b, int64_t panelStride, int64_t length, Fetch& fetch)
{
    constexpr int kWhole{Sums<R, V, Half>::kWhole};
    float const* a[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
        a[r] = rows[r];
    char const* ahead = fetch.from;
    for (int64_t k = 0; k < length; ++k)
    {
        F16 column[kWhole == 0 ? 1 : kWhole];
        F8 lastColumn;
#pragma GCC unroll 8
        for (int v = 0; v < kWhole; ++v)
            column[v] = load(b + v * panelStride);
        if constexpr (Half)
            lastColumn = load8(b + kWhole * panelStride);
        b += kPanel;
        if constexpr (Fetches)
        {
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += fetch.step;
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
        {
            F16 const element = splat(a[r][k]);
#pragma GCC unroll 8
            for (int v = 0; v < kWhole; ++v)
                sums.whole[r][v] = fma(element, column[v], sums.whole[r][v]);
            if constexpr (Half)
                sums.half[r] = fma(lowHalf(element), lastColumn, sums.half[r]);
        }
    }
    fetch.from = ahead;
}

template <typename B, int R, int V, bool Half>
__attribute__((noinline)) void runTile(Tile const& tile)
{
    constexpr int kWhole{Sums<R, V, Half>::kWhole};
    Gemm<float> const& g = tile.gemm;
    Sums<R, V, Half> sums;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
    {
#pragma GCC unroll 8
        for (int v = 0; v < kWhole; ++v)
            sums.whole[r][v] = zero();
        if constexpr (Half)
            sums.half[r] = lowHalf(zero());
    }
    int64_t const length = g.length;
    int64_t const panelStride = g.segments * length * kPanel;
    B const* const panel = static_cast<B const*>(tile.panels) + tile.panel * panelStride;
    float const* const* rows = tile.rows;
    Fetch fetch = tile.fetch;
    for (int64_t s = 0; s < tile.activeCount; ++s, rows += R)
    {
        B const* const b = panel + tile.active[s] * length * kPanel;
        if (fetch.step != 0)
            addSegment<true>(sums, rows, b, panelStride, length, fetch);
        else
            addSegment<false>(sums, rows, b, panelStride, length, fetch);
    }
    int64_t const end = g.columns - (tile.panel + V - 1) * kPanel;
    finish<R, V, Half>(tile, sums, end < kLanes ? end : kLanes);
}

using TileFunction = void (*)(Tile const&);

//! Tiles of V vectors: as many rows as fit the registers, and the sizes that remainders are put together from.
struct TileSet
{
    int32_t sizes[6];
    TileFunction functions[2][6]; //!< Whole, and with half a vector at the end.
};

template <int V, int... R>
constexpr TileSet tileSet()
{
    return {{R...}, {{&runTile<float, R, V, false>...}, {&runTile<float, R, V, true>...}}};
}

//! Tiles of one vector of which at most half is columns.
template <int... R>
constexpr TileSet halfTileSet()
{
    return {{R...}, {{&runTile<float, R, 1, true>...}, {&runTile<float, R, 1, true>...}}};
}

//! Tiles of few rows on panels that become floats as they are read: written down as floats first, they would be read
//! once more for each of them.
template <typename B, int V>
constexpr TileSet fewRows()
{
    return {{4, 2, 1},
        {{&runTile<B, 4, V, false>, &runTile<B, 2, V, false>, &runTile<B, 1, V, false>},
            {&runTile<B, 4, V, false>, &runTile<B, 2, V, false>, &runTile<B, 1, V, false>}}};
}
inline constexpr int64_t kFewRows{8};

#ifdef __AVX512F__
constexpr int64_t kMaxVectors{4};
constexpr TileSet kHalfTiles{halfTileSet<12, 8, 4, 2, 1>()};
constexpr TileSet kTiles[]{tileSet<1, 12, 8, 4, 2, 1>(), tileSet<2, 12, 8, 4, 2, 1>(), tileSet<3, 8, 6, 4, 2, 1>(),
    tileSet<4, 6, 5, 4, 3, 2, 1>()};
template <typename B>
constexpr TileSet kFewTiles[]{fewRows<B, 1>(), fewRows<B, 2>(), fewRows<B, 3>(), fewRows<B, 4>()};
#else
constexpr int64_t kMaxVectors{1};
constexpr TileSet kHalfTiles{halfTileSet<12, 8, 6, 4, 2, 1>()}; // One register per row: six would wait for each other.
constexpr TileSet kTiles[]{tileSet<1, 6, 5, 4, 3, 2, 1>()};
template <typename B>
constexpr TileSet kFewTiles[]{fewRows<B, 1>()};
#endif
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
