// Tiles of products of bfloat16 by pairs: one instruction multiplies two elements of a row with two of each column and
// adds both products. Included by one file that is compiled once per instruction set; what is here needs AVX512-BF16,
// which its callers have asked for.
#pragma once

#include "backends/cpu/bfloat_pairs.h"
#include "backends/cpu/gemm_tiles.h"
#include "backends/cpu/measured_rates.h"

#ifdef __AVX512F__

#define TENON_DOTS __attribute__((target("avx512bf16")))

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! A tile whose rows are read as they are stored.
struct DotTile
{
    Tile tile; //!< Its rows are not set.
    Bfloat const* const* rows;
};

TENON_DOTS inline __m512 addDot(__m512 sum, __m512i a, __m512i b)
{
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

template <int R, int V>
TENON_DOTS __attribute__((noinline)) void runDotTile(DotTile const& dots)
{
    Tile const& tile = dots.tile;
    Gemm<float> const& g = tile.gemm;
    alignas(64) float from[V * kLanes];
    findFirst<V>(tile, from);
    Sums<R, V, End::kWhole> first;
    beginSums(from, first);
    __m512 sums[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v)
            sums[r][v] = first.whole[r][v].v;
    int64_t const length = g.length;
    int64_t const panelStride = g.segments * length * kPanel;
    Bfloat const* const panel = static_cast<Bfloat const*>(tile.panels) + tile.panel * panelStride;
    Bfloat const* const* rows = dots.rows;
    char const* ahead = tile.fetch.from;
    for (int64_t s = 0; s < tile.activeCount; ++s, rows += R)
    {
        Bfloat const* b = panel + tile.active[s] * length * kPanel;
        int64_t k{0};
        for (; k + 2 <= length; k += 2, b += 2 * kPanel)
        {
            __m512i columns[V];
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v)
                columns[v] = interleaved(_mm512_loadu_si512(b + v * panelStride));
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += 2 * tile.fetch.step;
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r)
            {
                int32_t pair;
                __builtin_memcpy(&pair, rows[r] + k, sizeof(pair));
                __m512i const elements = _mm512_set1_epi32(pair);
#pragma GCC unroll 8
                for (int v = 0; v < V; ++v)
                    sums[r][v] = addDot(sums[r][v], elements, columns[v]);
            }
        }
        if (k < length)
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v)
            {
                __m512i const column =
                    interleaved(_mm512_zextsi256_si512(loadWords(static_cast<void const*>(b + v * panelStride))));
#pragma GCC unroll 16
                for (int r = 0; r < R; ++r)
                    sums[r][v] = addDot(sums[r][v], _mm512_set1_epi32(rows[r][k].bits), column);
            }
    }
    Sums<R, V, End::kWhole> whole;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v)
            whole.whole[r][v] = {sums[r][v]};
    int64_t const end = g.columns - (tile.panel + V - 1) * kPanel;
    finish<R, V, End::kWhole>(tile, whole, end < kLanes ? end : kLanes);
}

using DotFunction = void (*)(DotTile const&);

//! In the order of kTiles and its sizes, of which the first is for even rows of floats alone.
template <int V, int... R>
struct DotSet
{
    static constexpr DotFunction kFunctions[]{&runDotTile<R, V>...};
};
constexpr DotFunction const* kDotTiles[]{DotSet<1, 12, 12, 8, 4, 2, 1>::kFunctions,
    DotSet<2, 12, 8, 4, 2, 1>::kFunctions, DotSet<3, 8, 7, 6, 4, 2, 1>::kFunctions,
    DotSet<4, 6, 5, 4, 3, 2, 1>::kFunctions};

//! Ticks of so many dots; `seed` keeps the compiler from knowing the result.
TENON_DOTS __attribute__((noinline)) uint64_t ticksOfDots(float seed, float& sink)
{
    __m512 sums[kMeasuredChains];
    for (__m512& sum : sums)
        sum = _mm512_set1_ps(seed);
    __m512i const a = _mm512_castps_si512(_mm512_set1_ps(seed));
    uint64_t const start = __builtin_ia32_rdtsc();
    for (int i = 0; i < kMeasuredSteps; ++i)
#pragma GCC unroll 8
        for (int c = 0; c < kMeasuredChains; ++c)
            sums[c] = addDot(sums[c], a, a);
    uint64_t const ticks = __builtin_ia32_rdtsc() - start;
    for (__m512 const sum : sums)
        sink += _mm512_reduce_add_ps(sum);
    return ticks;
}
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
