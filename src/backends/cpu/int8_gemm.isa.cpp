// Int8Gemm: tiles of rows by panels. With AVX-512 VNNI four products are added up at once, of rows without sign (128 is
// added to each element, which the sums begin with taken off) and panels with sign; elsewhere both become 16-bit numbers,
// whose pairs of products an int32 holds: no instruction that saturates is used.
#include "backends/cpu/int8_gemm.h"
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

#include <utility>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
struct Int8Tile
{
    Int8Gemm const& gemm;
    int8_t const* const* rows; //!< [segments][rows of the tile]
    int16_t const* wide;       //!< [rows of the tile][depth]: the same as 16-bit numbers, where they are needed.
    int64_t depth;             //!< Of the panels: segments · quads · 4.
    int64_t panel;
    int32_t* sums; //!< [rows of the tile][stride]
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
    Int8Gemm const& g = tile.gemm;
    int64_t const quads = quadsOf(g.length);
    int64_t const panelBytes = tile.depth * kPanel;
    int8_t const* b = g.panels + tile.panel * panelBytes;
    __m512i sums[R][V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r)
            sums[r][v] = _mm512_loadu_si512(g.shifts + (tile.panel + v) * kPanel);
    __m512i const flip = _mm512_set1_epi32(static_cast<int32_t>(0x80808080U));
    int8_t const* const* rows = tile.rows;
    for (int64_t s = 0; s < g.segments; ++s, rows += R)
    {
        int8_t const* a[R];
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r)
            a[r] = rows[r];
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
constexpr int32_t kPairRows{12};

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
TENON_INLINE Pairs splatQuad(int16_t const* p)
{
    int64_t four;
    std::memcpy(&four, p, sizeof(four));
    return _mm256_set1_epi64x(four);
}
TENON_INLINE Pairs noPairs()
{
    return _mm256_setzero_si256();
}
TENON_INLINE Pairs addPairs(Pairs sum, Pairs a, Pairs b)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}
//! Neighbours added up: eight columns.
TENON_INLINE void storeJoined(int32_t* to, Pairs low, Pairs high)
{
    __m256i const joined = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), _MM_SHUFFLE(3, 1, 2, 0));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), joined);
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

//! Finds the segments of the rows of a tile.
class RowFinder
{
  public:
    RowFinder(Int8Gemm const& g, void* scratch)
        : mGemm{g},
          mPointers{static_cast<int8_t const**>(scratch)},
          mNumbers{reinterpret_cast<int16_t*>(mPointers + g.segments * kMaxTileRows)},
          mCopies{reinterpret_cast<int8_t*>(mNumbers + g.segments * kMaxTileRows * quadsOf(g.length) * kQuad)}
    {
    }
    int8_t const* const* pointers() const
    {
        return mPointers;
    }
    //! Rows [row, row + count): pointers [segments][count].
    void find(int64_t row, int32_t count)
    {
        if (mGemm.window == nullptr)
            for (int32_t r = 0; r < count; ++r)
                mPointers[r] = mGemm.a + (row + r) * mGemm.aStride;
        else
            findWindows(row, count);
        keepInside(mGemm.segments * count);
    }
    //! The rows found as 16-bit numbers: [count][depth].
    int16_t const* widen(int32_t count)
    {
        int64_t const quads = quadsOf(mGemm.length) * kQuad;
        int16_t* to = mNumbers;
        for (int32_t r = 0; r < count; ++r)
            for (int64_t s = 0; s < mGemm.segments; ++s, to += quads)
                widenNumbers(mPointers[s * count + r], quads, to);
        return mNumbers;
    }

  private:
    void findWindows(int64_t row, int32_t count)
    {
        GemmWindow const& w = *mGemm.window;
        int64_t const pixels = w.outHeight * w.outWidth;
        int64_t image = row / pixels;
        int64_t y = (row - image * pixels) / w.outWidth;
        int64_t x = row - image * pixels - y * w.outWidth;
        for (int32_t r = 0; r < count; ++r)
        {
            int8_t const* const base = mGemm.a + image * w.imageStride;
            int64_t const top = y * w.strideY - w.padTop;
            int64_t const left = x * w.strideX - w.padLeft;
            int8_t const** to = mPointers + r;
            for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
            {
                int64_t const inY = top + ky * w.dilationY;
                bool const isLine = static_cast<uint64_t>(inY) < static_cast<uint64_t>(w.inHeight);
                for (int64_t kx = 0; kx < w.kernelWidth; ++kx, to += count)
                {
                    int64_t const inX = left + kx * w.dilationX;
                    bool const isInside = isLine && static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth);
                    *to = isInside ? base + inY * w.lineStride + inX * w.pixelStride : mGemm.zeros;
                }
            }
            if (++x == w.outWidth)
            {
                x = 0;
                if (++y == w.outHeight)
                {
                    y = 0;
                    ++image;
                }
            }
        }
    }
    //! Whole quads are read: what would be read behind the end is copied to where that may be.
    void keepInside(int64_t count)
    {
        int64_t const whole = quadsOf(mGemm.length) * kQuad;
        if (whole == mGemm.length)
            return;
        for (int64_t i = 0; i < count; ++i)
        {
            if (mPointers[i] == mGemm.zeros || mGemm.aEnd - mPointers[i] >= whole)
                continue;
            int8_t* const copy = mCopies + i * whole;
            std::memcpy(copy, mPointers[i], static_cast<size_t>(mGemm.length));
            mPointers[i] = copy;
        }
    }

    Int8Gemm const& mGemm;
    int8_t const** mPointers;
    int16_t* mNumbers;
    int8_t* mCopies;
};

//! Vectors of the next block when `left` panels are left: blocks of four, the rest in even parts.
int64_t int8BlockWidth(int64_t left)
{
    if (left <= 3)
        return left;
    return left == 5 || left == 6 ? 3 : kMaxInt8Vectors;
}

template <int V>
void finishRows(Int8Finish const& f, int32_t const* sums, int64_t row, int32_t count, int64_t column, int64_t last)
{
    for (int32_t r = 0; r < count; ++r)
    {
        F16 x[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
            x[v] = loadNumbers(sums + (r * V + v) * kLanes);
        finishVectors<V>(f, x, row + r, column, last);
    }
}
using FinishRows = void (*)(Int8Finish const&, int32_t const*, int64_t, int32_t, int64_t, int64_t);
constexpr FinishRows kFinishRows[]{&finishRows<1>, &finishRows<2>, &finishRows<3>, &finishRows<4>};

template <bool IsVnni>
void runInt8Block(Int8Gemm const& g, GemmShare const& share, int64_t panel, int64_t width, void* scratch)
{
    Int8Tiles tiles{kPairRows, kPairTiles.data()};
#ifdef __AVX512F__
    if constexpr (IsVnni)
        tiles = quadTilesOf(width);
#endif
    alignas(64) int32_t sums[kMaxTileRows * kMaxInt8Vectors * kPanel];
    RowFinder finder{g, scratch};
    int64_t const depth = g.segments * quadsOf(g.length) * kQuad;
    int64_t const column = panel * kPanel;
    int64_t const end = g.columns - column - (width - 1) * kPanel;
    int64_t const last = end < kLanes ? end : kLanes;
    for (int64_t row = share.firstRow; row < share.lastRow;)
    {
        // Tiles of even heights: one of few rows would cost as much as a whole one.
        int64_t const left = share.lastRow - row;
        int64_t const parts = (left + tiles.rows - 1) / tiles.rows;
        auto const count = static_cast<int32_t>((left + parts - 1) / parts);
        finder.find(row, count);
        Int8Tile tile{g, finder.pointers(), nullptr, depth, panel, sums, width * kPanel};
        SumTile const function = tiles.functions[count - 1];
        if constexpr (IsVnni)
            function(tile);
        else
        {
            tile.wide = finder.widen(count);
            for (int64_t v = 0; v < width; ++v, ++tile.panel, tile.sums += kPanel)
                function(tile);
        }
        kFinishRows[width - 1](g.finish, sums, row, count, column, last);
        row += count;
    }
}

//! As many rows as stay in the second cache while blocks of panels pass.
int64_t int8RowsPerPass(Int8Gemm const& g, GemmShare const& share)
{
    constexpr int64_t kGrain{24};
    constexpr int64_t kLeastRows{96};
    constexpr int64_t kPassBytes{int64_t{320} << 10};
    int64_t const length = g.length > 0 ? g.length : 1;
    int64_t const perRow = g.window == nullptr ? length : length * g.window->strideY * g.window->strideX;
    int64_t const fitting = kPassBytes / perRow / kGrain * kGrain;
    int64_t const rows = share.lastRow - share.firstRow;
    int64_t const step = fitting < kLeastRows ? kLeastRows : fitting;
    return rows <= 2 * step ? (rows > 0 ? rows : 1) : step;
}

template <bool IsVnni>
void runInt8Passes(Int8Gemm const& gemm, GemmShare const& share, void* scratch)
{
    int64_t const step = int8RowsPerPass(gemm, share);
    for (int64_t row = share.firstRow; row < share.lastRow; row += step)
    {
        GemmShare part{share};
        part.firstRow = row;
        part.lastRow = share.lastRow - row < step ? share.lastRow : row + step;
        for (int64_t panel = share.firstPanel; panel < share.lastPanel;)
        {
            int64_t const width = int8BlockWidth(share.lastPanel - panel);
            runInt8Block<IsVnni>(gemm, part, panel, width, scratch);
            panel += width;
        }
    }
}
} // namespace

void runInt8Gemm(Int8Gemm const& gemm, GemmShare const& share, void* scratch)
{
    runInt8Passes<false>(gemm, share, scratch);
}

#ifdef __AVX512F__
void runInt8GemmVnni(Int8Gemm const& gemm, GemmShare const& share, void* scratch)
{
    runInt8Passes<true>(gemm, share, scratch);
}
#endif

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
