// Tiles of products: a tile keeps its sums in registers over the whole depth; columns come packed, rows from where they
// lie. Included by one file that is compiled once per instruction set.
#pragma once

#include "backends/cpu/gemm_sums.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! The elements of R rows at one depth after the other.
template <int R, bool Even>
class RowElements
{
  public:
    RowElements(float const* const* rows, int64_t)
    {
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
            mRows[r] = rows[r];
    }
    __attribute__((always_inline)) F16 operator()(int r, int64_t k) const
    {
        return splat(mRows[r][k]);
    }
    __attribute__((always_inline)) void next() {}

  private:
    float const* mRows[R];
};

//! Of rows equally far apart: a third as many addresses, or more than there are registers for would be kept elsewhere.
template <int R>
class RowElements<R, true>
{
  public:
    RowElements(float const* const* rows, int64_t stride)
        : mStride{stride},
          mTwice{2 * stride}
    {
#pragma GCC unroll 32
        for (int i = 0; i < kThirds; ++i)
            mThirds[i] = rows[0] + 3 * i * stride;
    }
    __attribute__((always_inline)) F16 operator()(int r, int64_t) const
    {
        float const* const from = mThirds[r / 3];
        return splat(r % 3 == 0 ? *from : from[r % 3 == 1 ? mStride : mTwice]);
    }
    //! Says that the addresses may be any, or the compiler would keep one per row after all.
    __attribute__((always_inline)) void next()
    {
#pragma GCC unroll 32
        for (float const*& from : mThirds)
        {
            ++from;
            asm("" : "+r"(from));
        }
    }

  private:
    static constexpr int kThirds{(R + 2) / 3};
    float const* mThirds[kThirds];
    int64_t mStride;
    int64_t mTwice;
};

//! Adds the products of one segment to the sums: rows times panels `panelStride` apart. B: what the panels are stored
//! as; with `Half` floats. With `Fetches` the prefetches go along, which take a slot of every step.
template <bool Fetches, typename B, int R, int V, bool Half, bool Even>
TENON_INLINE void addSegment(
    Sums<R, V, Half>& sums, RowElements<R, Even> rows, B const* b, int64_t panelStride, int64_t length, Fetch& fetch)
{
    constexpr int kWhole{Sums<R, V, Half>::kWhole};
    char const* ahead = fetch.from;
    for (int64_t k = 0; k < length; ++k)
    {
        F16 column[kWhole == 0 ? 1 : kWhole];
        F16 lastColumn;
        F16 even; // The element of the row before.
#pragma GCC unroll 8
        for (int v = 0; v < kWhole; ++v)
            column[v] = load(b + v * panelStride);
        if constexpr (Half)
            lastColumn = twice(load8(b + kWhole * panelStride));
        b += kPanel;
        if constexpr (Fetches)
        {
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += fetch.step;
        }
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
        {
            F16 const element = rows(r, k);
#pragma GCC unroll 8
            for (int v = 0; v < kWhole; ++v)
                sums.whole[r][v] = fma(element, column[v], sums.whole[r][v]);
            if constexpr (Half)
                if (r % 2 == 1 || r + 1 == R)
                    sums.pairs[r / 2] =
                        fma(joinHalves(r % 2 == 1 ? even : element, element), lastColumn, sums.pairs[r / 2]);
            even = element;
        }
        rows.next();
    }
    fetch.from = ahead;
}

template <typename B, int R, int V, bool Half, bool Even>
__attribute__((noinline)) void runTile(Tile const& tile)
{
    // In memory while the sums take the registers: left to itself, the compiler keeps addresses in those of vectors.
    Tile const* const volatile kept = &tile;
    Gemm<float> const& g = tile.gemm;
    Sums<R, V, Half> sums;
    beginSums(tile, sums);
    int64_t const length = g.length;
    int64_t const panelStride = g.segments * length * kPanel;
    B const* const panel = static_cast<B const*>(tile.panels) + tile.panel * panelStride;
    float const* const* rows = tile.rows;
    Fetch fetch = tile.fetch;
    for (int64_t s = 0; s < tile.activeCount; ++s, rows += Even ? 1 : R)
    {
        B const* const b = panel + tile.active[s] * length * kPanel;
        RowElements<R, Even> const elements{rows, tile.rowStride};
        if (fetch.step != 0)
            addSegment<true>(sums, elements, b, panelStride, length, fetch);
        else
            addSegment<false>(sums, elements, b, panelStride, length, fetch);
    }
    Tile const& same = *kept;
    int64_t const end = same.gemm.columns - (same.panel + V - 1) * kPanel;
    finish<R, V, Half>(same, sums, end < kLanes ? end : kLanes);
}

using TileFunction = void (*)(Tile const&);

//! Without AVX-512 six rows at most leave registers for their addresses.
#ifdef __AVX512F__
constexpr int64_t kMaxVectors{4};
constexpr bool kHasEvenTiles{true};
#else
constexpr int64_t kMaxVectors{1};
constexpr bool kHasEvenTiles{false};
#endif

//! Tiles of V vectors: as many rows as fit the registers, and the sizes that remainders are put together from. Those of
//! more than kMaxTileRows rows are even or none.
struct TileSet
{
    int32_t sizes[6];
    TileFunction functions[2][2][6]; //!< Any and even rows; whole, and with half a vector at the end.
};

template <typename B, int R, int V, bool Half, bool Even>
constexpr TileFunction tileFunction()
{
    if constexpr (Even ? kHasEvenTiles : R <= kMaxTileRows)
        return &runTile<B, R, V, Half, Even>;
    else
        return nullptr;
}

template <int V, int... R>
constexpr TileSet tileSet()
{
    return {{R...},
        {{{tileFunction<float, R, V, false, false>()...}, {tileFunction<float, R, V, true, false>()...}},
            {{tileFunction<float, R, V, false, true>()...}, {tileFunction<float, R, V, true, true>()...}}}};
}

//! Tiles of one vector of which at most half is columns.
template <int... R>
constexpr TileSet halfTileSet()
{
    return {{R...},
        {{{tileFunction<float, R, 1, true, false>()...}, {tileFunction<float, R, 1, true, false>()...}},
            {{tileFunction<float, R, 1, true, true>()...}, {tileFunction<float, R, 1, true, true>()...}}}};
}

//! Tiles of few rows on panels that become floats as they are read: written down as floats first, they would be read
//! once more for each of them.
template <typename B, int V>
constexpr TileSet fewRows()
{
    return {{4, 2, 1},
        {{{&runTile<B, 4, V, false, false>, &runTile<B, 2, V, false, false>, &runTile<B, 1, V, false, false>},
            {&runTile<B, 4, V, false, false>, &runTile<B, 2, V, false, false>, &runTile<B, 1, V, false, false>}}}};
}
inline constexpr int64_t kFewRows{8};

#ifdef __AVX512F__
constexpr TileSet kHalfTiles{halfTileSet<24, 12, 8, 4, 2, 1>()};
constexpr TileSet kTiles[]{tileSet<1, 24, 12, 8, 4, 2, 1>(), tileSet<2, 12, 8, 4, 2, 1>(), tileSet<3, 8, 6, 4, 2, 1>(),
    tileSet<4, 6, 5, 4, 3, 2, 1>()};
template <typename B>
constexpr TileSet kFewTiles[]{fewRows<B, 1>(), fewRows<B, 2>(), fewRows<B, 3>(), fewRows<B, 4>()};
#else
constexpr TileSet kHalfTiles{halfTileSet<12, 8, 6, 4, 2, 1>()}; // One register per row: six would wait for each other.
constexpr TileSet kTiles[]{tileSet<1, 6, 5, 4, 3, 2, 1>()};
template <typename B>
constexpr TileSet kFewTiles[]{fewRows<B, 1>()};
#endif
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
