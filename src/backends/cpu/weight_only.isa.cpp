// Products with weights of few bits: they become floats in registers, and the sums of a block meet its scale once.
#include "backends/cpu/weight_only.h"
#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/isa_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
constexpr int64_t kNibbles{8}; // Of a word.

//! Eight weights of each of sixteen columns.
#ifdef __AVX512F__
struct WeightWords
{
    __m512i v;
};
TENON_INLINE WeightWords loadWords(uint8_t const* p)
{
    return {_mm512_loadu_si512(p)};
}
//! The lowest weight of each column; the words move on to the next.
TENON_INLINE F16 takeWeight(WeightWords& words)
{
    // A permutation reads the lowest four bits of its indices: the table has the numbers of these bits.
    __m512 const numbers = _mm512_setr_ps(
        0.0F, 1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F, 7.0F, -8.0F, -7.0F, -6.0F, -5.0F, -4.0F, -3.0F, -2.0F, -1.0F);
    F16 const weight{_mm512_permutexvar_ps(words.v, numbers)};
    words.v = _mm512_srli_epi32(words.v, 4);
    return weight;
}
TENON_INLINE F16 loadBytes(int8_t const* p)
{
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))))};
}
#else
struct WeightWords
{
    __m256i lo;
    __m256i hi;
};
TENON_INLINE WeightWords loadWords(uint8_t const* p)
{
    return {_mm256_loadu_si256(reinterpret_cast<__m256i const*>(p)),
        _mm256_loadu_si256(reinterpret_cast<__m256i const*>(p + 32))};
}
TENON_INLINE __m256 takeWeight8(__m256i& words)
{
    __m256 const weight = _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(words, 28), 28));
    words = _mm256_srli_epi32(words, 4);
    return weight;
}
TENON_INLINE F16 takeWeight(WeightWords& words)
{
    __m256 const lo = takeWeight8(words.lo);
    return {lo, takeWeight8(words.hi)};
}
TENON_INLINE F16 loadBytes(int8_t const* p)
{
    __m128i const bytes = _mm_loadu_si128(reinterpret_cast<__m128i const*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}
#endif

//! Eight weights, one after the other, of V panels `stride` bytes apart.
template <bool IsInt4, int V>
struct WeightReader
{
    uint8_t const* from;
    int64_t stride;
    WeightWords words[IsInt4 ? V : 1];
};

template <bool IsInt4, int V>
TENON_INLINE void startEight(WeightReader<IsInt4, V>& reader)
{
    if constexpr (IsInt4)
    {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
            reader.words[v] = loadWords(reader.from + v * reader.stride);
        reader.from += kPanel * 4;
    }
}

template <bool IsInt4, int V>
TENON_INLINE void takeNext(WeightReader<IsInt4, V>& reader, F16 (&weights)[V])
{
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
        if constexpr (IsInt4)
            weights[v] = takeWeight(reader.words[v]);
        else
            weights[v] = loadBytes(reinterpret_cast<int8_t const*>(reader.from) + v * reader.stride);
    if constexpr (!IsInt4)
        reader.from += kPanel;
}

template <int R, int V>
TENON_INLINE void finishWeightOnly(Gemm<float> const& g, int64_t row, int64_t panel, F16 const (&totals)[R][V])
{
    int64_t const column = panel * kPanel;
    float* const c = g.c + row * g.cStride + column;
    int64_t const last =
        g.columns - column - (V - 1) * kLanes < kLanes ? g.columns - column - (V - 1) * kLanes : kLanes;
    for (int v = 0; v < V; ++v)
    {
        Mask const mask = firstLanes(v == V - 1 ? last : kLanes);
        F16 const bias = g.bias != nullptr ? load(g.bias + column + v * kLanes, mask) : zero();
        for (int r = 0; r < R; ++r)
        {
            F16 x = fma(totals[r][v], splat(g.alpha), bias);
            if (g.residual != nullptr)
                x = x + load(g.residual + (row + r) * g.residualStride + column + v * kLanes, mask);
            x = min(splat(g.high), max(splat(g.low), x));
            store(c + r * g.cStride + v * kLanes, x, mask);
        }
    }
    if (g.stepCount > 0)
        applySteps(g.steps, g.stepCount, c, g.cStride, row, R, column, (V - 1) * kLanes + last);
}

template <bool IsInt4, int R, int V>
__attribute__((noinline)) void weightOnlyTile(WeightOnly const& p, int64_t row, int64_t panel)
{
    Gemm<float> const& g = *p.product;
    int64_t const depth = g.length;
    int64_t const bytes = depth * kPanel / (IsInt4 ? 2 : 1);
    int64_t const scaleStride = depth / p.block * kPanel;
    float const* scales = p.scales + panel * scaleStride;
    WeightReader<IsInt4, V> reader{static_cast<uint8_t const*>(p.panels) + panel * bytes, bytes, {}};
    float const* a[R];
    F16 totals[R][V];
    for (int r = 0; r < R; ++r)
    {
        a[r] = g.a + (row + r) * g.aStride;
        for (int v = 0; v < V; ++v)
            totals[r][v] = zero();
    }
    for (int64_t first = 0; first < depth; first += p.block, scales += kPanel)
    {
        F16 sums[R][V];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                sums[r][v] = zero();
        for (int64_t k = first; k < first + p.block; k += kNibbles)
        {
            startEight(reader);
#pragma GCC unroll 8
            for (int64_t j = 0; j < kNibbles; ++j)
            {
                F16 weights[V];
                takeNext(reader, weights);
#pragma GCC unroll 4
                for (int r = 0; r < R; ++r)
                {
                    F16 const element = splat(a[r][k + j]);
#pragma GCC unroll 4
                    for (int v = 0; v < V; ++v)
                        sums[r][v] = fma(element, weights[v], sums[r][v]);
                }
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
        {
            F16 const scale = load(scales + v * scaleStride);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r)
                totals[r][v] = fma(sums[r][v], scale, totals[r][v]);
        }
    }
    finishWeightOnly<R, V>(g, row, panel, totals);
}

using WeightOnlyFunction = void (*)(WeightOnly const& product, int64_t row, int64_t panel);

//! Tiles of four rows, two and one: with as many panels as fit the registers, and with one.
struct WeightOnlyTiles
{
    int64_t wide[3];
    WeightOnlyFunction functions[3][2];
};
#ifdef __AVX512F__
template <bool IsInt4>
constexpr WeightOnlyTiles kWeightOnlyTiles{{2, 4, 4},
    {{&weightOnlyTile<IsInt4, 4, 2>, &weightOnlyTile<IsInt4, 4, 1>},
        {&weightOnlyTile<IsInt4, 2, 4>, &weightOnlyTile<IsInt4, 2, 1>},
        {&weightOnlyTile<IsInt4, 1, 4>, &weightOnlyTile<IsInt4, 1, 1>}}};
#else
template <bool IsInt4>
constexpr WeightOnlyTiles kWeightOnlyTiles{{1, 1, 2},
    {{&weightOnlyTile<IsInt4, 4, 1>, &weightOnlyTile<IsInt4, 4, 1>},
        {&weightOnlyTile<IsInt4, 2, 1>, &weightOnlyTile<IsInt4, 2, 1>},
        {&weightOnlyTile<IsInt4, 1, 2>, &weightOnlyTile<IsInt4, 1, 1>}}};
#endif

template <bool IsInt4>
void widenPanels(WeightOnly const& p, int64_t firstPanel, int64_t lastPanel, float* to)
{
    int64_t const depth = p.product->length;
    int64_t const bytes = depth * kPanel / (IsInt4 ? 2 : 1);
    for (int64_t panel = firstPanel; panel < lastPanel; ++panel)
    {
        WeightReader<IsInt4, 1> reader{static_cast<uint8_t const*>(p.panels) + panel * bytes, bytes, {}};
        float const* scales = p.scales + panel * (depth / p.block) * kPanel;
        for (int64_t first = 0; first < depth; first += p.block, scales += kPanel)
        {
            F16 const scale = load(scales);
            for (int64_t k = 0; k < p.block; k += kNibbles)
            {
                startEight(reader);
#pragma GCC unroll 8
                for (int64_t j = 0; j < kNibbles; ++j, to += kPanel)
                {
                    F16 weights[1];
                    takeNext(reader, weights);
                    store(to, weights[0] * scale);
                }
            }
        }
    }
}
} // namespace

void runWeightOnly(WeightOnly const& product, int64_t firstPanel, int64_t lastPanel)
{
    WeightOnlyTiles const& tiles = product.isInt4 ? kWeightOnlyTiles<true> : kWeightOnlyTiles<false>;
    int64_t const rows = product.product->rows;
    for (int64_t panel = firstPanel; panel < lastPanel;)
    {
        // All rows meet a group of panels before the next one comes.
        int64_t const most = tiles.wide[rows >= 4 ? 0 : rows >= 2 ? 1 : 2];
        int64_t const group = most <= lastPanel - panel ? most : 1;
        for (int64_t row = 0; row < rows;)
        {
            int const which = rows - row >= 4 ? 0 : rows - row >= 2 ? 1 : 2;
            bool const isWide = group > 1 && tiles.wide[which] <= group;
            int64_t const step = isWide ? tiles.wide[which] : 1;
            for (int64_t at = panel; at < panel + group; at += step)
                tiles.functions[which][isWide ? 0 : 1](product, row, at);
            row += int64_t{4} >> which;
        }
        panel += group;
    }
}

void widenWeights(WeightOnly const& product, int64_t firstPanel, int64_t lastPanel, float* to)
{
    product.isInt4 ? widenPanels<true>(product, firstPanel, lastPanel, to)
                   : widenPanels<false>(product, firstPanel, lastPanel, to);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
