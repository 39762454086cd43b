// Int8 tiles: sums of products of some rows and panels. With AVX-512 VNNI four products are added up at once, of rows
// without sign (128 is added to each element, which the sums begin with taken off) and panels with sign. Elsewhere the
// same is done for rows without a negative element, as behind a ReLU: a pair of products of at most 127 and 128 fits
// into 16 bits, so that the instruction that saturates there never does. All other rows and their panels become 16-bit
// numbers, whose pairs of products an int32 holds. Included by one file that is compiled once per instruction set.
#pragma once

#include "backends/cpu/int8_gemm.h"
#include "backends/cpu/simd.h"

#include <array>
#include <cstring>
#include <utility>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
struct Int8Tile
{
    Int8Gemm const& gemm;
    int8_t const* const* rows; //!< [segments][rows of the tile]
    int64_t const* offsets;    //!< Of quads: from a row's first segment to each; null: every segment has a pointer.
    int64_t segments;          //!< Of these rows: segments of the product that lie one behind the other are one.
    int64_t quads;             //!< Of one of these.
    int16_t const* wide;       //!< [rows of the tile][depth]: the same as 16-bit numbers, where they are needed.
    int64_t depth;             //!< Of the panels: segments · quads · 4.
    int64_t panel;
    int8_t const* quadPanels; //!< Those of the first segment of these rows.
    int32_t const* shifts;    //!< What the sums of rows without sign begin with, per column.
    int32_t* sums;            //!< [rows of the tile][stride]
    int64_t stride;
};
using SumTile = void (*)(Int8Tile const& tile);

constexpr int64_t kMaxInt8Vectors{4};

//! Tiles of `width` panels side by side have so many rows at most; those with fewer are functions[rows − 1].
struct Int8Tiles
{
    int32_t rows;
    SumTile const* functions;
};

#ifdef __AVX512F__
template <int R, int V>
__attribute__((noinline, target("avx512vnni"))) void sumQuads(Int8Tile const& tile)
{
    int64_t const quads = tile.quads;
    int64_t const panelBytes = tile.depth * kPanel;
    int8_t const* b = tile.quadPanels;
    __m512i sums[R][V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r)
            sums[r][v] = _mm512_loadu_si512(tile.shifts + v * kPanel);
    __m512i const flip = _mm512_set1_epi32(static_cast<int32_t>(0x80808080U));
    int8_t const* const* rows = tile.rows;
    int64_t const rowsOfSegment = tile.offsets == nullptr ? R : 0;
    for (int64_t s = 0; s < tile.segments; ++s, rows += rowsOfSegment)
    {
        int64_t const offset = tile.offsets == nullptr ? 0 : tile.offsets[s];
        int8_t const* a[R];
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r)
            a[r] = rows[r] + offset;
        for (int64_t q = 0; q < quads; ++q)
        {
            __m512i column[V];
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                column[v] = _mm512_loadu_si512(b + v * panelBytes);
            b += kPanel * kQuad;
#pragma GCC unroll 12
            for (int r = 0; r < R; ++r)
            {
                int32_t four;
                std::memcpy(&four, a[r] + q * kQuad, sizeof(four));
                __m512i const x = _mm512_xor_si512(_mm512_set1_epi32(four), flip);
#pragma GCC unroll 4
                for (int v = 0; v < V; ++v)
                    sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], x, column[v]);
            }
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
            _mm512_storeu_si512(tile.sums + r * tile.stride + v * kLanes, sums[r][v]);
}

//! Functions of tiles of 1 to N rows and V panels.
template <int V, size_t... Rows>
constexpr std::array<SumTile, sizeof...(Rows)> quadTiles(std::index_sequence<Rows...>)
{
    return {&sumQuads<static_cast<int>(Rows) + 1, V>...};
}
constexpr auto kQuads1 = quadTiles<1>(std::make_index_sequence<12>{});
constexpr auto kQuads2 = quadTiles<2>(std::make_index_sequence<12>{});
constexpr auto kQuads3 = quadTiles<3>(std::make_index_sequence<8>{});
constexpr auto kQuads4 = quadTiles<4>(std::make_index_sequence<6>{});

Int8Tiles quadTilesOf(int64_t width)
{
    switch (width)
    {
    case 1: return {12, kQuads1.data()};
    case 2: return {12, kQuads2.data()};
    case 3: return {8, kQuads3.data()};
    default: return {6, kQuads4.data()};
    }
}

using Pairs = __m512i;
constexpr int32_t kPairRows{8};

TENON_INLINE Pairs widened(int8_t const* p)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(p)));
}
TENON_INLINE Pairs splatQuad(int16_t const* p)
{
    int64_t four;
    std::memcpy(&four, p, sizeof(four));
    return _mm512_set1_epi64(four);
}
TENON_INLINE Pairs noPairs()
{
    return _mm512_setzero_si512();
}
TENON_INLINE Pairs addPairs(Pairs sum, Pairs a, Pairs b)
{
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
}
//! Neighbours added up: sixteen columns.
TENON_INLINE void storeJoined(int32_t* to, Pairs low, Pairs high)
{
    __m512i const even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i const odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    _mm512_storeu_si512(
        to, _mm512_add_epi32(_mm512_permutex2var_epi32(low, even, high), _mm512_permutex2var_epi32(low, odd, high)));
}
//! One quad of the row, to each column.
TENON_INLINE Pairs splatBytes(int8_t const* p)
{
    int32_t four;
    std::memcpy(&four, p, sizeof(four));
    return _mm512_set1_epi32(four);
}
TENON_INLINE Pairs columnsOf(int8_t const* p)
{
    return _mm512_loadu_si512(p);
}
//! sum + products of a quad: x without sign, at most 127.
TENON_INLINE Pairs addQuads(Pairs sum, Pairs x, Pairs column)
{
    return addPairs(sum, _mm512_maddubs_epi16(x, column), _mm512_set1_epi16(1));
}
TENON_INLINE void storeSums(int32_t* to, Pairs sum)
{
    _mm512_storeu_si512(to, sum);
}
TENON_INLINE bool anyNegative(int8_t const* from, int64_t count)
{
    __m512i bits = _mm512_setzero_si512();
    int64_t i = 0;
    for (; i + 64 <= count; i += 64)
        bits = _mm512_or_si512(bits, _mm512_loadu_si512(from + i));
    int8_t rest = 0;
    for (; i < count; ++i)
        rest = static_cast<int8_t>(rest | from[i]);
    return rest < 0 || _mm512_movepi8_mask(bits) != 0;
}
void widenNumbers(int8_t const* from, int64_t count, int16_t* to)
{
    int64_t i = 0;
    for (; i + 32 <= count; i += 32)
        _mm512_storeu_si512(to + i, widened(from + i));
    for (; i < count; ++i)
        to[i] = from[i];
}

#else

using Pairs = __m256i;
constexpr int32_t kPairRows{6};

TENON_INLINE Pairs widened(int8_t const* p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p)));
}
//! Where it stands: the compiler would load those of all rows first, and spill sums for them.
TENON_INLINE Pairs splatQuad(int16_t const* p)
{
    Pairs quad;
    asm volatile("vpbroadcastq %1, %0" : "=x"(quad) : "m"(*reinterpret_cast<int64_t const*>(p)));
    return quad;
}
TENON_INLINE Pairs noPairs()
{
    return _mm256_setzero_si256();
}
//! One row after the other: see splatQuad.
TENON_INLINE Pairs addPairs(Pairs sum, Pairs a, Pairs b)
{
    __m256i const products = _mm256_madd_epi16(a, b);
    asm volatile("vpaddd %1, %0, %0" : "+x"(sum) : "x"(products));
    return sum;
}
//! Neighbours added up: eight columns.
TENON_INLINE void storeJoined(int32_t* to, Pairs low, Pairs high)
{
    __m256i const joined = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), _MM_SHUFFLE(3, 1, 2, 0));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), joined);
}
//! One quad of the row, to each column: see splatQuad.
TENON_INLINE Pairs splatBytes(int8_t const* p)
{
    Pairs quads;
    asm volatile("vpbroadcastd %1, %0" : "=x"(quads) : "m"(*reinterpret_cast<int32_t const*>(p)));
    return quads;
}
TENON_INLINE Pairs columnsOf(int8_t const* p)
{
    return _mm256_loadu_si256(reinterpret_cast<__m256i const*>(p));
}
//! sum + products of a quad: x without sign, at most 127.
TENON_INLINE Pairs addQuads(Pairs sum, Pairs x, Pairs column)
{
    return addPairs(sum, _mm256_maddubs_epi16(x, column), _mm256_set1_epi16(1));
}
TENON_INLINE void storeSums(int32_t* to, Pairs sum)
{
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum);
}
TENON_INLINE bool anyNegative(int8_t const* from, int64_t count)
{
    __m256i bits = _mm256_setzero_si256();
    int64_t i = 0;
    for (; i + 32 <= count; i += 32)
        bits = _mm256_or_si256(bits, columnsOf(from + i));
    int8_t rest = 0;
    for (; i < count; ++i)
        rest = static_cast<int8_t>(rest | from[i]);
    return rest < 0 || _mm256_movemask_epi8(bits) != 0;
}
void widenNumbers(int8_t const* from, int64_t count, int16_t* to)
{
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), widened(from + i));
    for (; i < count; ++i)
        to[i] = from[i];
}

#endif

//! Columns of two registers of pairs, each with two sums per column.
constexpr int64_t kPairColumns{static_cast<int64_t>(sizeof(Pairs)) / 4};

//! One panel, as many columns of it at a time as two registers take.
template <int R>
__attribute__((noinline)) void sumPairs(Int8Tile const& tile)
{
    for (int64_t first = 0; first < kPanel; first += kPairColumns)
    {
        int8_t const* b = tile.gemm.panels + tile.panel * tile.depth * kPanel + first * kQuad;
        Pairs sums[R][2];
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r)
            sums[r][0] = sums[r][1] = noPairs();
        int16_t const* a = tile.wide;
#pragma GCC unroll 2
        for (int64_t k = 0; k < tile.depth; k += kQuad, b += kPanel * kQuad, a += kQuad)
        {
            Pairs const low = widened(b);
            Pairs const high = widened(b + sizeof(Pairs) / 2);
#pragma GCC unroll 12
            for (int r = 0; r < R; ++r)
            {
                Pairs const x = splatQuad(a + r * tile.depth);
                sums[r][0] = addPairs(sums[r][0], x, low);
                sums[r][1] = addPairs(sums[r][1], x, high);
            }
        }
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r)
            storeJoined(tile.sums + r * tile.stride + first, sums[r][0], sums[r][1]);
    }
}
template <size_t... Rows>
constexpr std::array<SumTile, sizeof...(Rows)> pairTiles(std::index_sequence<Rows...>)
{
    return {&sumPairs<static_cast<int>(Rows) + 1>...};
}
constexpr auto kPairTiles = pairTiles(std::make_index_sequence<kPairRows>{});

//! One panel, of rows that have no negative element.
template <int R>
__attribute__((noinline)) void sumUnsigned(Int8Tile const& tile)
{
    constexpr int64_t kBytes{sizeof(Pairs)};
    constexpr int kVectors{static_cast<int>(kPanel * kQuad / kBytes)};
    int64_t const quads = tile.quads;
    int8_t const* b = tile.gemm.panels + tile.panel * tile.depth * kPanel;
    Pairs sums[R][kVectors];
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
            sums[r][v] = noPairs();
    int8_t const* const* rows = tile.rows;
    for (int64_t s = 0; s < tile.segments; ++s, rows += R)
    {
        int8_t const* a[R];
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r)
            a[r] = rows[r];
        for (int64_t q = 0; q < quads; ++q, b += kPanel * kQuad)
        {
            Pairs column[kVectors];
#pragma GCC unroll 2
            for (int v = 0; v < kVectors; ++v)
                column[v] = columnsOf(b + v * kBytes);
#pragma GCC unroll 12
            for (int r = 0; r < R; ++r)
            {
                Pairs const x = splatBytes(a[r] + q * kQuad);
#pragma GCC unroll 2
                for (int v = 0; v < kVectors; ++v)
                    sums[r][v] = addQuads(sums[r][v], x, column[v]);
            }
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
            storeSums(tile.sums + r * tile.stride + v * kBytes / 4, sums[r][v]);
}
template <size_t... Rows>
constexpr std::array<SumTile, sizeof...(Rows)> unsignedTiles(std::index_sequence<Rows...>)
{
    return {&sumUnsigned<static_cast<int>(Rows) + 1>...};
}
constexpr auto kUnsignedTiles = unsignedTiles(std::make_index_sequence<kPairRows>{});
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
