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
    __attribute__((always_inline)) float const& operator()(int r, int64_t k) const
    {
        return mRows[r][k];
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
    __attribute__((always_inline)) float const& operator()(int r, int64_t) const
    {
        float const* const from = mThirds[r / 3];
        return r % 3 == 0 ? *from : from[r % 3 == 1 ? mStride : mTwice];
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
//! as; floats unless the end is whole. With `Fetches` the prefetches go along, which take a slot of every step.
template <bool Fetches, typename B, int R, int V, End E, bool Even>
TENON_INLINE void addSegment(Sums<R, V, E>& sums, RowElements<R, Even> rows, B const* b, int64_t panelStride,
    int64_t length, char const* ahead, int64_t step)
{
    constexpr int kWhole{Sums<R, V, E>::kWhole};
    for (int64_t k = 0; k < length; ++k)
    {
        F16 column[kWhole == 0 ? 1 : kWhole];
        F16 lastPair;
        F8 lastHalf;
        F16 even; // The element of the row before.
#pragma GCC unroll 8
        for (int v = 0; v < kWhole; ++v)
            column[v] = load(b + v * panelStride);
        if constexpr (E == End::kPairs)
            lastPair = twice(load8(b + kWhole * panelStride));
        if constexpr (E == End::kHalves)
            lastHalf = load8(b + kWhole * panelStride);
        b += kPanel;
        if constexpr (Fetches)
        {
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += step;
        }
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
        {
            if constexpr (E == End::kHalves)
                sums.halves[r] = fma(F8{_mm256_set1_ps(rows(r, k))}, lastHalf, sums.halves[r]);
            if constexpr (E == End::kHalves && kWhole == 0)
                continue;
            F16 const element = splat(rows(r, k));
#pragma GCC unroll 8
            for (int v = 0; v < kWhole; ++v)
                sums.whole[r][v] = fma(element, column[v], sums.whole[r][v]);
            if constexpr (E == End::kPairs)
                if (r % 2 == 1 || r + 1 == R)
                    sums.pairs[r / 2] =
                        fma(joinHalves(r % 2 == 1 ? even : element, element), lastPair, sums.pairs[r / 2]);
            even = element;
        }
        rows.next();
    }
}

//! `kept` is read anew for each segment: what the compiler would keep meanwhile it keeps in registers of vectors, from
//! where an address comes behind all products that wait there.
template <typename B, int R, int V, End E, bool Even>
TENON_INLINE void addProducts(Tile* const volatile& kept, Sums<R, V, E>& sums)
{
    for (int64_t s = 0; s < kept->activeCount; ++s)
    {
        Tile const& tile = *kept;
        int64_t const length = tile.gemm.length;
        B const* const b = static_cast<B const*>(tile.first) + tile.active[s] * length * kPanel;
        RowElements<R, Even> const elements{tile.rows + s * (Even ? 1 : R), tile.rowStride};
        char const* const ahead = tile.fetch.from + s * length * tile.fetch.step;
        if (tile.fetch.step != 0)
            addSegment<true>(sums, elements, b, tile.panelStride, length, ahead, tile.fetch.step);
        else
            addSegment<false>(sums, elements, b, tile.panelStride, length, ahead, 0);
    }
}

//! What stands between the products of one tile and of the next is to be short: a processor that works out of order
//! looks some three hundred instructions ahead.
template <typename B, int R, int V, End E, bool Even>
__attribute__((noinline)) void runTile(Tile& tile)
{
    tile.panelStride = tile.gemm.segments * tile.gemm.length * kPanel;
    tile.first = static_cast<B const*>(tile.panels) + tile.panel * tile.panelStride;
    Tile* const volatile kept = &tile;
    alignas(64) float first[V * kLanes];
    findFirst<V>(tile, first);
    asm volatile("" : : "r"(first) : "memory");
    for (;;)
    {
        Sums<R, V, E> sums;
        beginSums(first, sums);
        addProducts<B, R, V, E, Even>(kept, sums);
        Tile& same = *kept;
        int64_t const end = same.gemm.columns - (same.panel + V - 1) * kPanel;
        finish<R, V, E>(same, sums, end < kLanes ? end : kLanes);
        if (!Even || --same.count == 0)
            return;
        same.goDown(R);
    }
}

using TileFunction = void (*)(Tile&);

//! Without AVX-512 six rows at most leave registers for their addresses.
#ifdef __AVX512F__
constexpr int64_t kMaxVectors{4};
constexpr bool kHasHalves{true};
#else
constexpr int64_t kMaxVectors{1};
constexpr bool kHasHalves{false};
#endif

//! Tiles of V vectors: as many rows as fit the registers, and the sizes that remainders are put together from. Those of
//! more than kMaxTileRows rows are even or none.
struct TileSet
{
    int32_t sizes[6];
    TileFunction functions[2][3][6]; //!< Any and even rows; the ends.
};

template <typename B, int R, int V, End E, bool Even>
constexpr TileFunction tileFunction()
{
    if constexpr ((Even || R <= kMaxTileRows) && (E != End::kHalves || kHasHalves))
        return &runTile<B, R, V, E, Even>;
    else
        return nullptr;
}

template <int V, int... R>
constexpr TileSet tileSet()
{
    return {{R...},
        {{{tileFunction<float, R, V, End::kWhole, false>()...}, {tileFunction<float, R, V, End::kPairs, false>()...},
             {tileFunction<float, R, V, End::kHalves, false>()...}},
            {{tileFunction<float, R, V, End::kWhole, true>()...}, {tileFunction<float, R, V, End::kPairs, true>()...},
                {tileFunction<float, R, V, End::kHalves, true>()...}}}};
}

//! Tiles of one vector of which at most half is columns.
template <int... R>
constexpr TileSet halfTileSet()
{
    return {{R...},
        {{{}, {tileFunction<float, R, 1, End::kPairs, false>()...},
             {tileFunction<float, R, 1, End::kHalves, false>()...}},
            {{}, {tileFunction<float, R, 1, End::kPairs, true>()...},
                {tileFunction<float, R, 1, End::kHalves, true>()...}}}};
}

//! Tiles of few rows on panels that become floats as they are read: written down as floats first, they would be read
//! once more for each of them.
template <typename B, int V>
constexpr TileSet fewRows()
{
    constexpr TileFunction k4{&runTile<B, 4, V, End::kWhole, false>};
    constexpr TileFunction k2{&runTile<B, 2, V, End::kWhole, false>};
    constexpr TileFunction k1{&runTile<B, 1, V, End::kWhole, false>};
    return {{4, 2, 1}, {{{k4, k2, k1}, {k4, k2, k1}, {k4, k2, k1}}}};
}
inline constexpr int64_t kFewRows{8};

#ifdef __AVX512F__
constexpr TileSet kHalfTiles{halfTileSet<24, 12, 8, 4, 2, 1>()};
constexpr TileSet kTiles[]{tileSet<1, 24, 12, 8, 4, 2, 1>(), tileSet<2, 12, 8, 4, 2, 1>(),
    tileSet<3, 8, 7, 6, 4, 2, 1>(), tileSet<4, 6, 5, 4, 3, 2, 1>()};
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
